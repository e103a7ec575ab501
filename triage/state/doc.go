// Package state keeps the state that the triage gates of all consumer processes
// share (contract §11), in three JetStream key-value buckets:
//
//	<STREAM>_TRIAGE         d.<group>.<message>   a [Decision], written once
//	                        s.<group>             the skipped messages that no turn was told yet
//	<STREAM>_TRIAGE_RECENT  <group>               recent messages of a group, for an hour
//	<STREAM>_TRIAGE_MARKS   <group>.<message>     a [Mark], kept until it is removed
//
// Groups and messages are named by tokens (subjects.Name).
//
// The process that creates the key of a decision first has decided, for all
// processes; every other change is a compare-and-set. Before a decision to skip
// is created, the message is added to the skipped ones ([Store.Pend]), so that
// a crash in between cannot lose it: a message without a decision, or with the
// decision to respond, is left out again when a turn takes the skipped ones
// ([Store.Take]).
//
// A missing bucket is created by the next call. While the bucket or the server
// is unreachable, calls fail at once or when their context ends.
package state
