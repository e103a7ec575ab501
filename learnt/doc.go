// Package learnt keeps the examples that the local classifiers of all consumer
// processes learn from use (HINT_LEARN), in a JetStream key-value bucket:
//
//	<STREAM>_LEARNT  <run>   an [Example], kept until it is removed or newer ones take its place
//
// Runs are named by tokens (subjects.Name), so that each run has one example, however
// often its events are delivered and whoever applies them. Every change is
// compare-and-set.
//
// [Sink] makes examples of events, with the turn as the session store has it. A bucket
// that is missing is created by the next call. While it or the server is away, calls
// fail at once or when their context ends.
package learnt
