package bus

import (
	"context"
	"errors"
	"fmt"
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
}

// DeadLetterStream is the name of the dead-letter stream.
func (l Layout) DeadLetterStream() string { return l.Stream + subjects.DeadLetterSuffix }

// Settings of what is created.
const (
	// ackWait is how long a consumer process may hold an event. What a killed
	// process held comes back after this time, so it is short; a process that
	// needs longer says so (see Events).
	ackWait = 10 * time.Second
	// maxAckPending bounds the events that all processes hold together.
	maxAckPending = 16384
	// duplicateWindow is how long the server itself refuses an id it has seen.
	duplicateWindow = 2 * time.Minute
)

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
		Duplicates:  duplicateWindow,
		AllowDirect: true,
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
		Duplicates:  duplicateWindow,
		AllowDirect: true,
	}
}

func (l Layout) durable() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:     l.QueueGroup,
		Description: "Shared by all intenthint consumer processes",
		AckPolicy:   jetstream.AckExplicitPolicy,
		AckWait:     ackWait,
		// Retries are counted and ended by the consumer, which knows a fault
		// of the store from a fault of the event.
		MaxDeliver:    -1,
		MaxAckPending: maxAckPending,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	}
}

// Provisioned is what a consumer process works on.
type Provisioned struct {
	Events      jetstream.Stream
	DeadLetters jetstream.Stream
	Durable     jetstream.Consumer
}

// Provision creates the streams and the durable that are missing, and leaves
// alone what exists. Several processes may do it at once.
func Provision(ctx context.Context, js jetstream.JetStream, l Layout) (Provisioned, error) {
	var (
		p   Provisioned
		err error
	)
	if p.Events, err = ensureStream(ctx, js, l.eventStream()); err != nil {
		return Provisioned{}, err
	}
	if p.DeadLetters, err = ensureStream(ctx, js, l.deadLetterStream()); err != nil {
		return Provisioned{}, err
	}
	if p.Durable, err = ensureDurable(ctx, p.Events, l.durable()); err != nil {
		return Provisioned{}, err
	}
	return p, nil
}

func ensureStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, cfg.Name)
	if err == nil {
		return s, nil
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("stream %s: %w", cfg.Name, err)
	}
	s, err = js.CreateStream(ctx, cfg)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		// Another process was faster, with settings of its own.
		s, err = js.Stream(ctx, cfg.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("create stream %s for %v: %w", cfg.Name, cfg.Subjects, err)
	}
	return s, nil
}

func ensureDurable(ctx context.Context, s jetstream.Stream, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	c, err := s.Consumer(ctx, cfg.Durable)
	if err == nil {
		return c, nil
	}
	if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, fmt.Errorf("durable %s: %w", cfg.Durable, err)
	}
	c, err = s.CreateConsumer(ctx, cfg)
	if errors.Is(err, jetstream.ErrConsumerExists) {
		c, err = s.Consumer(ctx, cfg.Durable)
	}
	if err != nil {
		return nil, fmt.Errorf("create durable %s: %w", cfg.Durable, err)
	}
	return c, nil
}

// Temporary says whether an error of [Provision] may go away by itself: the
// server is away, or a cluster has no leader yet.
func Temporary(err error) bool {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return false
	case errors.As(err, &api):
		return api.Code == 503
	default:
		return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
			errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionReconnecting) ||
			errors.Is(err, nats.ErrDisconnected)
	}
}
