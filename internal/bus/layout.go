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
	// claimBytes bounds the bucket of claims.
	claimBytes = 16 << 20
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
		DeliverPolicy: jetstream.DeliverAllPolicy,
	}
}

// recentRuns is how long claims are kept: no gateway retries a run for longer.
const recentRuns = 15 * time.Minute

// recentTime is how long the recent messages of a group are kept after the last
// one (contract §11).
const recentTime = time.Hour

// bucket returns a bucket of the stream on disk. Its keys have no age unless TTL is
// set.
func (l Layout) bucket(suffix, description string) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: l.Stream + suffix, Description: description, Storage: jetstream.FileStorage, Replicas: l.Replicas, History: 1,
	}
}

// Claims is the bucket of claims on runs. It is on disk to survive a restart of
// the server; the write costs little beside the model call that follows.
func (l Layout) Claims() jetstream.KeyValueConfig {
	c := l.bucket("_CLAIMS", "Runs that an intenthint process is classifying with a model")
	c.TTL, c.MaxBytes = recentRuns, claimBytes
	return c
}

// Sessions is the bucket of sessions with HINT_STORE=kv. A session is removed as a
// whole, by its age.
func (l Layout) Sessions() jetstream.KeyValueConfig {
	return l.bucket("_SESSIONS", "Session documents of intenthint")
}

// Triage is the bucket of the triage gate's decisions, kept as long as events.
func (l Layout) Triage() jetstream.KeyValueConfig {
	c := l.bucket("_TRIAGE", "Decisions of the triage gate of intenthint")
	c.TTL = l.MaxAge
	return c
}

// TriageRecent is the bucket of the recent messages of groups.
func (l Layout) TriageRecent() jetstream.KeyValueConfig {
	c := l.bucket("_TRIAGE_RECENT", "Recent messages of the groups that the triage gate of intenthint looks at")
	c.TTL = recentTime
	return c
}

// TriageMarks is the bucket of marked triage decisions. A mark is kept until it is
// removed.
func (l Layout) TriageMarks() jetstream.KeyValueConfig {
	return l.bucket("_TRIAGE_MARKS", "What people said of decisions of the triage gate of intenthint")
}

// Learnt is the bucket of the examples that the local classifier learns from use. An
// example is kept until it is removed, or newer ones take its place.
func (l Layout) Learnt() jetstream.KeyValueConfig {
	return l.bucket("_LEARNT", "Examples that the local classifiers of intenthint learnt from use")
}

// Experiences is the bucket of experiences (contract §12), kept for good.
func (l Layout) Experiences() jetstream.KeyValueConfig {
	return l.bucket("_EXPERIENCES", "Experiences of agents, kept by intenthint")
}

// KnowHubTurns is the bucket of the turns of sessions that KnowHub counts. They are
// kept as long as events, from a session's last turn on.
func (l Layout) KnowHubTurns() jetstream.KeyValueConfig {
	c := l.bucket("_KNOWHUB_TURNS", "Turns of sessions, for the reminders and recalled experiences of intenthint")
	c.TTL = l.MaxAge
	return c
}

// TriageDurable returns the durable of the events that the triage gate uses.
func (l Layout) TriageDurable() Durable {
	return Durable{
		Name:        l.QueueGroup + "-triage",
		Hooks:       []string{subjects.HookFeedback, subjects.HookMessageSent, subjects.HookBeforePromptBuild},
		Description: "Feedback, sent messages and unanswered turns, for the triage gate of intenthint",
	}
}

// LearnDurable is the durable of the events from which examples are learnt.
func (l Layout) LearnDurable() Durable {
	return Durable{
		Name:        l.QueueGroup + "-learn",
		Hooks:       []string{subjects.HookFeedback, subjects.HookTurnBegun},
		Description: "Feedback and answered turns, from which intenthint learns examples",
	}
}

// KnowHubDurable is the durable of the events from which experiences are extracted,
// those of one hook.
func (l Layout) KnowHubDurable(hook string) Durable {
	return Durable{
		Name:        l.QueueGroup + "-knowhub",
		Hooks:       []string{hook},
		Description: "Messages of ended runs, from which intenthint extracts experiences",
	}
}
