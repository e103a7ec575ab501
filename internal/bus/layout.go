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
	// that is created here; 0 means 1.
	Replicas int
	// System is the identity put into the metadata of an event stream that is
	// created here.
	System System
}

// DeadLetterStream returns the name of the dead-letter stream.
func (l Layout) DeadLetterStream() string { return l.Stream + subjects.DeadLetterSuffix }

// Durable is a consumer of the event stream, shared by all consumer processes.
// Each sink of events has its own.
type Durable struct {
	// Name contains none of ".*> /\\" and no white space.
	Name string
	// Hooks are the hooks whose events the durable gets; none means all.
	Hooks []string
	// Description is for operators.
	Description string
	// FromNow makes a durable that is created begin with the events stored after that.
	FromNow bool
}

// Durables returns all durables of the event stream, the one of the sessions
// first.
func (l Layout) Durables() []Durable {
	sessions := Durable{Name: l.QueueGroup, Description: "Shared by all intenthint consumer processes"}
	return append([]Durable{sessions}, l.More...)
}

// filters returns the subjects of the events that a durable gets; none means
// all.
func (l Layout) filters(d Durable) []string {
	var out []string
	for _, hook := range d.Hooks {
		out = append(out, l.Prefix.EventsOf(hook))
	}
	return out
}

// Settings of what is created.
const (
	// AckWait is how long a consumer process may hold an event. Events of a
	// killed process are redelivered after this time, so it is short; a process
	// that needs longer tells the server.
	AckWait = 10 * time.Second
	// maxAckPending bounds the events of a durable that all processes hold
	// together: eight processes can hold their full limit each (see package
	// events).
	maxAckPending = 65536
	// duplicateWindow is how long the server rejects a known message id.
	duplicateWindow = 2 * time.Minute
)

// Bounds of a pull, which a durable must not refuse.
const (
	// PullMessages is how many messages the client prefetches.
	PullMessages = 512
	// pullBytes is how many bytes the client prefetches, see [PullBytes].
	pullBytes = 16 << 20
	// PullExpiry is how long a pull waits for messages.
	PullExpiry = 30 * time.Second
)

// PullBytes is how many bytes one pull asks for. A limit below the largest
// message would never let it through.
func PullBytes(nc *nats.Conn) int { return max(pullBytes, 2*int(nc.MaxPayload())) }

// duplicates is the duplicate window, which must not exceed MaxAge.
func (l Layout) duplicates() time.Duration {
	if l.MaxAge > 0 {
		return min(duplicateWindow, l.MaxAge)
	}
	return duplicateWindow
}

// resources returns the resources that every consumer process needs, in order
// of creation.
func (l Layout) resources() []resource {
	out := []resource{
		l.resource(l.eventStream()),
		l.resource(l.deadLetterStream()),
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
		Metadata:    l.System.metadata(),
		// Concurrent turns are synced to disk together. A server older than 2.12
		// does not support it (see batch.CreateStream).
		AllowAtomicPublish: true,
	}
}

// maxDeadLetterBytes bounds the dead-letter stream. The server reserves it.
const maxDeadLetterBytes = 128 << 20

func (l Layout) deadLetterStream() jetstream.StreamConfig {
	c := l.eventStream()
	c.Name = l.DeadLetterStream()
	c.Description = "Events that intenthint could not decode or apply"
	c.Subjects = []string{l.Prefix.DeadLetters()}
	c.AllowAtomicPublish, c.Metadata = false, nil
	if c.MaxBytes <= 0 || c.MaxBytes > maxDeadLetterBytes {
		c.MaxBytes = maxDeadLetterBytes
	}
	return c
}

func (l Layout) durable(d Durable) jetstream.ConsumerConfig {
	deliver := jetstream.DeliverAllPolicy
	if d.FromNow {
		deliver = jetstream.DeliverNewPolicy
	}
	return jetstream.ConsumerConfig{
		Durable:        d.Name,
		Description:    d.Description,
		FilterSubjects: l.filters(d),
		AckPolicy:      jetstream.AckExplicitPolicy,
		AckWait:        AckWait,
		// The consumer ends retries: it can tell a failure of the store from one
		// of the event.
		MaxDeliver:    -1,
		MaxAckPending: maxAckPending,
		DeliverPolicy: deliver,
	}
}

// Bucket returns a bucket on disk whose name begins with that of the event stream. Its
// keys have no age unless TTL is set.
func (l Layout) Bucket(suffix, description string) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: l.Stream + suffix, Description: description, Storage: jetstream.FileStorage, Replicas: l.Replicas, History: 1,
	}
}
