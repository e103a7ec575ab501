package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"intenthint/internal/bus"
)

// Event is one message of the event stream, decoded.
type Event[F any] struct {
	// Session groups events; "" means that the event is ignored.
	Session string
	Fact    F
	Hook    string
}

// Handler decodes and applies the events of a sink.
type Handler[F any] struct {
	// Decode decodes a message to a fact. An error is permanent: the message
	// becomes a dead letter at once.
	Decode func(subject, msgID string, data []byte) (Event[F], error)
	// Apply applies facts of one session. It is idempotent: a fact may come
	// again, and in any order. When it returns nil, a crash of the process can
	// no longer lose them. An error with a method Temporary that returns true
	// is not the fault of the facts, whatever Check returns.
	Apply func(ctx context.Context, facts []F) error
	// Check returns the reason why no fact can be applied at present, else nil.
	// Apply is retried without limit while Check fails too.
	Check func(ctx context.Context) error
}

var errNoHandler = errors.New("handler without Decode or Apply")

func (h *Handler[F]) validate() error {
	if h.Decode == nil || h.Apply == nil {
		return errNoHandler
	}
	if h.Check == nil {
		h.Check = func(context.Context) error { return nil }
	}
	return nil
}

// SinkOptions describe a sink.
type SinkOptions[F any] struct {
	// Name is the sink's name in metrics and logs.
	Name string
	JS   jetstream.JetStream
	// Layout is the layout to provision; deleted parts of it are recreated.
	Layout bus.Layout
	// Durable is the name of one of the layout's durables; "" is the one named
	// like the queue group. No two sinks share one.
	Durable string
	Handler Handler[F]
	// Metrics is shared by all sinks; nil for none.
	Metrics *Metrics
	// Log is nil for the default.
	Log *slog.Logger

	// rest is not the usual one in tests.
	rest func(took time.Duration) time.Duration
}

var (
	errNoName    = errors.New("no name")
	errNoJS      = errors.New("no JetStream context")
	errNoDurable = errors.New("unknown durable")
)

func (o *SinkOptions[F]) validate() error {
	if o.Durable == "" {
		o.Durable = o.Layout.QueueGroup
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.rest == nil {
		o.rest = rest
	}
	switch {
	case o.Name == "":
		return errNoName
	case o.JS == nil:
		return errNoJS
	case !slices.ContainsFunc(o.Layout.Durables(), func(d bus.Durable) bool { return d.Name == o.Durable }):
		return fmt.Errorf("%w %q", errNoDurable, o.Durable)
	}
	return o.Handler.validate()
}

// Bounds of a sink.
const (
	pullMessages = bus.PullMessages
	// heldEvents and heldBytes bound the unacknowledged events.
	heldEvents = 4096
	heldBytes  = 8 << 20
	// maxAttempts is how often an event may fail by itself before it becomes a
	// dead letter.
	maxAttempts = 5
	// appliers is how many sessions are written at once. They wait for the
	// disk, which syncs many files together in little more time than one.
	appliers = 64
	// letterRest is the pause after a dead letter could not be stored.
	letterRest = time.Second
	// settleTime is how long a server may take to remove the files of a stream
	// after it has said that it is deleted. A new one of the same name that is
	// made meanwhile loses its files with them, and takes no event until the
	// server starts again.
	settleTime = time.Second
	// heartbeat is the idle heartbeat of a pull; after two missed ones the
	// durable is looked up.
	heartbeat = 2 * time.Second
	// stuckTime is how long one round of a loop may take until it counts as
	// stuck.
	stuckTime = 30 * time.Second
	// lagPause is the interval at which the durable's lag is read.
	lagPause = 5 * time.Second
)

// Sink applies the events of one durable.
type Sink[F any] struct {
	js      jetstream.JetStream
	layout  bus.Layout
	durable string // its name
	handler Handler[F]
	metrics sinkMetrics
	log     *slog.Logger
	rest    func(took time.Duration) time.Duration

	// room bounds all events taken from the iterator, see weight. full is set
	// while the next one waits for room, which crowded tells run.
	room    *semaphore.Weighted
	full    atomic.Bool
	crowded chan struct{}

	done   chan struct{}
	cancel context.CancelFunc
	// stopPulling ends a pull that delivers no more messages.
	stopPulling context.CancelFunc
	fault       atomic.Pointer[error]
	pulse       pulse // of run

	mu       sync.Mutex // guards what follows
	source   source
	stopping bool
}

// StartSink begins to apply the events of a durable, which must exist. ctx is
// that of the start alone; [Sink.Stop] ends the sink.
func StartSink[F any](ctx context.Context, o SinkOptions[F]) (*Sink[F], error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("event sink %q: %w", o.Name, err)
	}
	s := &Sink[F]{
		js: o.JS, layout: o.Layout, durable: o.Durable, handler: o.Handler, metrics: o.Metrics.of(o.Name), log: o.Log.With("sink", o.Name), rest: o.rest,
		room: semaphore.NewWeighted(heldBytes), crowded: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("event sink %q: %w", o.Name, err)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	pulling, stopPulling := context.WithCancel(own)
	s.stopPulling = stopPulling
	// Messages beyond the room wait here, not in the iterator: a full iterator
	// drops status messages of the server.
	incoming := make(chan jetstream.Msg, pullMessages)
	go s.pull(own, pulling, incoming)
	go s.run(own, incoming)
	go s.watchLag(own)
	return s, nil
}

// Check returns why events cannot be applied at present, or nil. It is a
// health check.
func (s *Sink[F]) Check(context.Context) error {
	if p := s.fault.Load(); p != nil {
		return *p
	}
	return s.pulse.check(time.Now())
}

// CatchUp waits until no event is pending or in progress, or the time is
// over.
func (s *Sink[F]) CatchUp(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		info, err := s.current().durable.Info(ctx)
		if err != nil || info.NumPending == 0 && info.NumAckPending == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop takes no further event, applies and acknowledges those it has, and
// returns when that is done or ctx ends.
func (s *Sink[F]) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.source.messages.Drain()
	s.mu.Unlock()
	defer s.cancel()
	// An unreachable server cannot confirm that no more messages come.
	nc := s.js.Conn()
	lost := nc.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	defer nc.RemoveStatusListener(lost)
	if nc.Status() != nats.CONNECTED {
		s.stopPulling()
	}
	for {
		select {
		case <-s.done:
			return nil
		case <-lost:
			s.stopPulling()
			lost = nil
		case <-ctx.Done():
			return fmt.Errorf("events are still being applied: %w", ctx.Err())
		}
	}
}

// watchLag reports how far the durable is behind.
func (s *Sink[F]) watchLag(ctx context.Context) {
	tick := time.NewTicker(lagPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.done:
			return
		case <-tick.C:
			s.reportLag(ctx)
		}
	}
}

func (s *Sink[F]) reportLag(ctx context.Context) {
	ask, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if info, err := s.current().durable.Info(ask); err == nil {
		s.metrics.pending.Set(float64(info.NumPending))
		s.metrics.ackPending.Set(float64(info.NumAckPending))
	}
}

// pulse detects a stuck loop. The zero value is that of a loop that has not
// started or has ended.
type pulse struct {
	last atomic.Int64 // the beginning of a round, in Unix nanoseconds
}

func (p *pulse) beat(now time.Time) { p.last.Store(now.UnixNano()) }

func (p *pulse) end() { p.last.Store(0) }

func (p *pulse) check(now time.Time) error {
	last := p.last.Load()
	if age := now.Sub(time.Unix(0, last)); last > 0 && age > stuckTime {
		return fmt.Errorf("event loop stuck for %s", age.Round(time.Second))
	}
	return nil
}
