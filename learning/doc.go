// Package learning keeps the examples that the local classifiers of all consumer
// processes learn from use (HINT_LEARN), in a JetStream key-value bucket:
//
//	<STREAM>_LEARNT  <run>   an [Example], kept until it is removed or newer ones take its place
//
// Runs are named by tokens (subjects.Name), so that each run has one example, however
// often its events are delivered and whoever applies them. Every change is a
// compare-and-set.
//
// [Sink] makes examples from events and the turns in the session store. A
// missing bucket is created by the next call. While the bucket or the server is
// unreachable, calls fail at once or when their context ends.
package learning
