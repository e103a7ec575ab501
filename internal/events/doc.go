// Package events is the event side of the bus (contract §2). A [Sink] applies
// what the event stream holds, a [Publisher] puts the turns that begin into it,
// and [DeadLetters] are the events that could be neither decoded nor applied.
// The package moves messages; what an event means is given to it as a
// [Handler].
//
// What holds:
//
//   - Each sink has a durable of its own, shared by all consumer processes. Its
//     acknowledgements, retries, dead letters and lag are apart from those of
//     the others: a sink that fails holds up nobody else, and a restart resumes
//     each where it was.
//   - An event is acknowledged to the durable of a sink only after that sink's
//     Apply has returned nil, so a crash loses nothing. It is delivered again
//     instead, in any order and to any process: Apply must be idempotent and
//     must not depend on the order.
//   - A failure of the store (Check fails, or the error is temporary) is retried
//     for ever. A failure of the event itself is retried a few times and then
//     becomes a dead letter. No event is dropped in silence.
//   - A dead letter that is replayed is published to the stream again and so
//     reaches every sink, also those that have applied it: they are idempotent.
//     Its first id travels with it.
package events
