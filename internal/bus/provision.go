package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// Layout names the streams and the durable (contract §2).
type Layout struct {
	Prefix subjects.Prefix
	// QueueGroup names the queue group of the requests and the durable.
	QueueGroup string
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

// Settings of what is created.
const (
	// AckWait is how long a consumer process may hold an event. What a killed
	// process held comes back after this time, so it is short; a process that
	// needs longer tells the server.
	AckWait = 10 * time.Second
	// maxAckPending bounds the events that all processes hold together.
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
	return []resource{
		streamResource{l.eventStream(), l.Prefix},
		streamResource{l.deadLetterStream(), l.Prefix},
		durableResource{l.Stream, l.durable(), l.Prefix},
	}
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

func (l Layout) durable() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:     l.QueueGroup,
		Description: "Shared by all intenthint consumer processes",
		AckPolicy:   jetstream.AckExplicitPolicy,
		AckWait:     AckWait,
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

// Provisioned is what a consumer process works on.
type Provisioned struct {
	// Events and DeadLetters are nil when the user may not look at them.
	Events      jetstream.Stream
	DeadLetters jetstream.Stream
	Durable     jetstream.Consumer
	// Warnings say what exists otherwise than it is asked for and matters.
	Warnings []string
}

// Errors of [Provision].
var (
	// ErrUnusable reports something that exists with a setting under which
	// no consumer can work.
	ErrUnusable = errors.New("cannot be used")
	// errNotYet: a cluster is still making what this process or another one
	// has created.
	errNotYet = errors.New("was created and is not there yet")
)

// Provision creates the streams and the durable that are missing, and leaves
// alone what exists. Several processes may do it at once. A stream that the
// user may not look at is taken to be there.
func Provision(ctx context.Context, js jetstream.JetStream, l Layout) (Provisioned, error) {
	var p Provisioned
	for _, r := range l.resources() {
		t, err := ensure(ctx, js, r)
		if errors.Is(err, ErrDenied) && !errors.Is(err, ErrNoReplies) && t.Kind == KindStream && !t.Missing {
			p.Warnings = append(p.Warnings, fmt.Sprintf("stream %s is taken to be there as it should be: %v", t.Name, err))
			continue
		}
		if err != nil {
			return Provisioned{}, err
		}
		for _, d := range t.Differences {
			switch {
			case d.unusable:
				return Provisioned{}, fmt.Errorf("%s %s %w: %s is %s, and %s (consumer stream plan shows more)", t.Kind, t.Name, ErrUnusable, d.Field, d.From, d.Effect)
			case d.Effect != "":
				p.Warnings = append(p.Warnings, fmt.Sprintf("%s %s: %s is %s instead of %s: %s", t.Kind, t.Name, d.Field, d.From, d.To, d.Effect))
			}
		}
		switch {
		case t.Kind == KindDurable:
			p.Durable = t.durable
		case t.Name == l.Stream:
			p.Events = t.stream
		default:
			p.DeadLetters = t.stream
		}
	}
	return p, nil
}

// CheckRequests returns [ErrUnusable] when a stream captures requests and
// acknowledges them: gateways would take that for the answer (contract §2). A
// user who may not list streams hears nothing of it.
func CheckRequests(ctx context.Context, js jetstream.JetStream, l Layout) error {
	names, err := Call(ctx, js.Conn(), func(ctx context.Context) (names []string, err error) {
		streams := js.ListStreams(ctx, jetstream.WithStreamListSubject(l.Prefix.Requests()))
		for s := range streams.Info() {
			if !s.Config.NoAck {
				names = append(names, s.Config.Name)
			}
		}
		return names, streams.Err()
	})
	switch {
	case errors.Is(err, ErrDenied):
		return nil
	case err != nil:
		return fmt.Errorf("streams that capture requests: %w", err)
	case len(names) > 0:
		return fmt.Errorf("stream %s %w: it captures %s, and its acknowledgements would be taken for answers", strings.Join(names, ", "), ErrUnusable, l.Prefix.Requests())
	}
	return nil
}

// ensure creates a resource that is missing. The target says what is there in
// the end.
func ensure(ctx context.Context, js jetstream.JetStream, r resource) (Target, error) {
	t, err := r.look(ctx, js)
	if err != nil || !t.Missing {
		return t, err
	}
	failure := r.create(ctx, js)
	// Of several processes one is the fastest, maybe with settings of its own;
	// who was there first does not matter.
	now, err := r.look(ctx, js)
	switch {
	case err == nil && !now.Missing:
		return now, nil
	case failure != nil && !errors.Is(failure, jetstream.ErrStreamNameAlreadyInUse) && !errors.Is(failure, jetstream.ErrConsumerExists):
		return t, failure
	case err == nil:
		return t, fmt.Errorf("%s %s %w", t.Kind, t.Name, errNotYet)
	default:
		return t, err
	}
}

// codeNoPeers is how a cluster says that it has too few servers for the
// replicas, which is so while it starts.
const codeNoPeers = 10005

// Temporary says whether an error of [Provision] may go away by itself: the
// server is away, or a cluster has no leader or not all of its servers yet.
func Temporary(err error) bool {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return false
	case errors.As(err, &api):
		return api.Code == 503 || api.ErrorCode == codeNoPeers
	default:
		return errors.Is(err, errNotYet) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
			errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionReconnecting) ||
			errors.Is(err, nats.ErrDisconnected)
	}
}
