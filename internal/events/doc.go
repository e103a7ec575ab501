// Package events is the event side of the bus (contract §2). A [Sink] applies the
// events of the event stream, a [Publisher] publishes the turns that begin, and
// [DeadLetters] holds the events that could not be decoded or applied. The package
// transports messages; a [Handler] decodes and applies them.
//
// Guarantees:
//
//   - Each sink has a durable of its own, shared by all consumer processes. Its
//     acknowledgements, retries, dead letters and lag are separate from those of
//     other sinks: a failing sink does not delay other sinks, and each resumes
//     at its own place after a restart.
//   - An event is acknowledged to the durable of a sink only after that sink's
//     Apply has returned nil, so a crash loses no event. Events may be
//     redelivered in any order and to any process: Apply must be idempotent
//     and independent of the order.
//   - A failure of the store (Check fails, or the error is temporary) is retried
//     without limit. A failure of the event itself is retried a few times and
//     then becomes a dead letter. No event is dropped silently.
//   - A dead letter that is replayed is published to the stream again and so
//     reaches every sink, including those that have already applied it: they are idempotent.
//     It carries its original id.
package events
