// Package run gives every request of an agent run the run's first answer
// (contract §8): a gateway that retries a run, at whichever consumer process,
// gets the hint of the first time again, and requests for one run at the same
// time make one classification.
//
// [Answers] holds the rule. It remembers answers in a [memory], hears those of
// other processes through [Peers], and with [Claims] keeps two processes from
// asking a model about one run.
package run
