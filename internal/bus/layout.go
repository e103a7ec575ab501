package bus

import (
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// Layout names the streams and their durables (contract §2).
type Layout struct {
	Prefix subjects.Prefix
	// QueueGroup names the queue group of the requests, and the durable whose
	// events become sessions.
	QueueGroup string
	// More are the durables of further sinks, each with a name of its own.
	More []Durable
	// Stream names the event stream; the dead-letter stream has the suffix _DLQ.
	Stream string
	// MaxAge and MaxBytes bound streams that are created here.
	MaxAge   time.Duration
	MaxBytes int64
	// Replicas is how many servers of a cluster hold each stream and bucket
	// that is created here; 0 is 1.
	Replicas int
}

// DeadLetterStream is the name of the dead-letter stream.
func (l Layout) DeadLetterStream() string { return l.Stream + subjects.DeadLetterSuffix }

// Durable is a consumer of the event stream, shared by all consumer processes.
// Each sink of events has one: its events, acknowledgements and retries are
// apart from those of the others.
type Durable struct {
	// Name holds none of the characters ".*> /\\" and no white space.
	Name string
	// Hooks are those whose events it gets; none means all.
	Hooks []string
	// Description is for operators.
	Description string
}

// Durables are all durables of the event stream, that of the sessions first.
func (l Layout) Durables() []Durable {
	sessions := Durable{Name: l.QueueGroup, Description: "Shared by all intenthint consumer processes"}
	return append([]Durable{sessions}, l.More...)
}

// filters are the subjects of the events that a durable gets; none means all.
func (l Layout) filters(d Durable) []string {
	var out []string
	for _, hook := range d.Hooks {
		out = append(out, l.Prefix.EventsOf(hook))
	}
	return out
}

// Settings of what is created.
const (
	// AckWait is how long a consumer process may hold an event. What a killed
	// process held comes back after this time, so it is short; a process that
	// needs longer tells the server.
	AckWait = 10 * time.Second
	// maxAckPending bounds the events of a durable that all processes hold
	// together.
	maxAckPending = 16384
	// duplicateWindow is how long the server itself refuses an id it has seen.
	duplicateWindow = 2 * time.Minute
	// claimBytes bounds the bucket of claims.
	claimBytes = 16 << 20
)

// Bounds of a pull, which a durable must not refuse.
const (
	// PullMessages is how many messages the client holds ahead.
	PullMessages = 512
	// pullBytes is how many bytes it holds ahead, see [PullBytes].
	pullBytes = 16 << 20
	// PullExpiry is how long a pull waits for messages.
	PullExpiry = 30 * time.Second
)

// PullBytes is how many bytes one pull asks for. A limit below the largest
// message would never let it through.
func PullBytes(nc *nats.Conn) int { return max(pullBytes, 2*int(nc.MaxPayload())) }

// duplicates is the duplicate window, which the server does not let be longer
// than events are kept.
func (l Layout) duplicates() time.Duration {
	if l.MaxAge > 0 {
		return min(duplicateWindow, l.MaxAge)
	}
	return duplicateWindow
}

// resources are what every consumer process needs, in the order in which they
// are created.
func (l Layout) resources() []resource {
	out := []resource{
		streamResource{l.eventStream(), l.Prefix},
		streamResource{l.deadLetterStream(), l.Prefix},
	}
	for _, d := range l.Durables() {
		out = append(out, durableResource{l.Stream, l.durable(d), l.Prefix})
	}
	return out
}

func (l Layout) eventStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        l.Stream,
		Description: "Hook events of OpenClaw gateways and the turns that intenthint began",
		Subjects:    []string{l.Prefix.Events()},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		MaxAge:      l.MaxAge,
		MaxBytes:    l.MaxBytes,
		Replicas:    l.Replicas,
		Duplicates:  l.duplicates(),
		AllowDirect: true,
		// Turns that begin at the same time are synced to the disk together. An
		// older server than 2.12 does without (see batch.CreateStream).
		AllowAtomicPublish: true,
	}
}

// maxDeadLetterBytes bounds the dead-letter stream, whose share is reserved on
// the server from the beginning like the event stream's.
const maxDeadLetterBytes = 128 << 20

func (l Layout) deadLetterStream() jetstream.StreamConfig {
	most := l.MaxBytes
	if most <= 0 || most > maxDeadLetterBytes {
		most = maxDeadLetterBytes
	}
	return jetstream.StreamConfig{
		Name:        l.DeadLetterStream(),
		Description: "Events that intenthint could not decode or apply",
		Subjects:    []string{l.Prefix.DeadLetters()},
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		MaxAge:      l.MaxAge,
		MaxBytes:    most,
		Replicas:    l.Replicas,
		Duplicates:  l.duplicates(),
		AllowDirect: true,
	}
}

func (l Layout) durable(d Durable) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:        d.Name,
		Description:    d.Description,
		FilterSubjects: l.filters(d),
		AckPolicy:      jetstream.AckExplicitPolicy,
		AckWait:        AckWait,
		// Retries are counted and ended by the consumer, which knows a fault
		// of the store from a fault of the event.
		MaxDeliver:    -1,
		MaxAckPending: maxAckPending,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	}
}

// Claims is the bucket that [OpenClaims] makes. It is on disk, so that a
// restart of the server does not take it away; the write costs little beside
// the model call that follows.
func (l Layout) Claims() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket:      l.Stream + "_CLAIMS",
		Description: "Runs that an intenthint process is classifying with a model",
		TTL:         recentRuns,
		Storage:     jetstream.FileStorage,
		MaxBytes:    claimBytes,
		Replicas:    l.Replicas,
		History:     1,
	}
}

// Sessions is the bucket in which sessions are kept with HINT_STORE=kv. It has
// no age: a session is removed as a whole.
func (l Layout) Sessions() jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket:      l.Stream + "_SESSIONS",
		Description: "Session documents of intenthint",
		Storage:     jetstream.FileStorage,
		Replicas:    l.Replicas,
		History:     1,
	}
}
