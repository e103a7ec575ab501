// Package run gives every request of an agent run the run's first answer
// (contract §8): a gateway that retries a run, at any consumer process, gets
// the first hint again, and concurrent requests for one run share one
// classification (singleflight).
//
// [Answers] implements the rule. It remembers answers in a [memory], receives
// those of other processes through [Peers], and uses [Claims] to keep two
// processes from asking a model about the same run.
package run
