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
	"golang.org/x/sync/semaphore"

	"intenthint/internal/bus"
	"intenthint/internal/loglimit"
	"intenthint/internal/panics"
	"intenthint/internal/retry"
	"intenthint/subjects"
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
	// Decode decodes a message to a fact. hook is the one that its
	// subject names, "" for none. An error is permanent: the message
	// becomes a dead letter at once.
	Decode func(hook, msgID string, data []byte) (Event[F], error)
	// Apply applies facts of one session durably. It must be idempotent and
	// independent of the order. An error with a method Temporary that returns
	// true is not the fault of the facts, whatever Check returns.
	Apply func(ctx context.Context, facts []F) error
	// Stored is told when the stream stored the event of a fact, by the server's clock,
	// and returns the fact to apply; take is false for an event to ignore. nil takes all.
	Stored func(fact F, at time.Time) (_ F, take bool)
	// Check returns why no fact can be applied at present, or nil. Apply is
	// retried without limit while Check fails too.
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

// decode decodes a message. A panic counts as a failure of the event; otherwise
// a redelivered event would crash one process after another.
func (h *Handler[F]) decode(p subjects.Prefix, m jetstream.Msg) (ev Event[F], err error) {
	err = panics.Catch(func() error {
		ev, err = h.Decode(p.EventHook(m.Subject()), subjects.EventID(m.Headers()), m.Data())
		return err
	})
	if err != nil || ev.Session == "" || h.Stored == nil {
		return ev, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return ev, err
	}
	var take bool
	if ev.Fact, take = h.Stored(ev.Fact, meta.Timestamp); !take {
		ev.Session = ""
	}
	return ev, nil
}

// SinkOptions describe a sink.
type SinkOptions[F any] struct {
	// Name is the sink's name in metrics and logs.
	Name string
	JS   jetstream.JetStream
	// Layout is the layout to provision; deleted parts of it are recreated.
	Layout bus.Layout
	// Durable is the name of one of the layout's durables; "" is that of the queue
	// group. Each sink needs its own.
	Durable string
	Handler Handler[F]
	// Appliers is set for a sink whose events take seconds each: it is how many of
	// them are applied at once. The sink then takes only that many from the
	// stream: other processes get the rest, and no event waits here beyond
	// AckWait. Stop cancels their Apply instead of waiting for it. 0 is for events
	// that are fast to apply: many are held, and 64 sessions are applied at once.
	Appliers int
	// Pause returns the backoff before an event that failed is redelivered, given how
	// often it has; nil means 0.5 s to 30 s, which is also the backoff while no event
	// can be applied.
	Pause   func(tries uint64) time.Duration
	Metrics *Metrics // shared by all sinks
	Log     *slog.Logger

	// For tests:
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
	if o.rest == nil {
		o.rest = rest
	}
	if o.Pause == nil {
		o.Pause = retryPause
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

// hooks returns the hooks whose events the durable gets; none means all.
func (o *SinkOptions[F]) hooks() []string {
	durables := o.Layout.Durables()
	return durables[slices.IndexFunc(durables, func(d bus.Durable) bool { return d.Name == o.Durable })].Hooks
}

// Bounds of a sink.
const (
	pullMessages = bus.PullMessages
	// heldEvents and heldBytes bound the unacknowledged events. Holding more
	// writes more of a backlog at once, and takes more memory: see
	// docs/decisions/0006-events-become-files.md.
	heldEvents = 8192
	heldBytes  = 16 << 20
	// maxAttempts is how often an event may fail in one process before it is a dead
	// letter; see also deliveriesATry.
	maxAttempts = 5
	// appliers is how many sessions are written at once, unless SinkOptions sets
	// Appliers. The disk syncs many files in little more time than one.
	appliers = 64
	// letterTime is how long dead letters are stored at a time.
	letterTime = time.Second
	// settleTime is how long a server may take to remove the files of a deleted
	// stream. A stream of the same name created meanwhile loses its files too and
	// takes no events until the server restarts.
	settleTime = time.Second
	// heartbeat is the heartbeat interval of an idle pull. Two missed heartbeats
	// end the pull.
	heartbeat = 2 * time.Second
	// stuckTime is how long one round of the loop may take.
	stuckTime = 30 * time.Second
	// lagPause is the interval at which the durable's lag is read.
	lagPause = 5 * time.Second
)

// Sink applies the events of one durable.
type Sink[F any] struct {
	o SinkOptions[F]

	// room bounds the events held, see weight. full is set while the next one
	// waits for room; crowded wakes run then.
	room    *semaphore.Weighted
	full    atomic.Bool
	crowded chan struct{}
	// seats bounds the number of events held if SinkOptions.Appliers is set; else
	// it is nil. A message is taken only once it has a seat.
	seats chan struct{}

	done   chan struct{}
	cancel context.CancelFunc
	// endApplying ends the Apply of a sink with seats.
	endApplying context.CancelFunc
	// stopPulling ends a pull that delivers no more messages.
	stopPulling context.CancelFunc
	fault       atomic.Pointer[fault]
	tries       tries
	lines       loglimit.Limit
	round       atomic.Int64 // when the present round of run began, in Unix nanoseconds; 0 if it has ended

	mu       sync.Mutex // guards what follows
	source   source
	stopping bool
	// left is closed when the sink takes events again, or stops; nil while it takes them.
	left chan struct{}
}

// StartSink begins to apply the events of a durable, which must exist. ctx is for
// the start only; [Sink.Stop] ends the sink.
func StartSink[F any](ctx context.Context, o SinkOptions[F]) (*Sink[F], error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("event sink %q: %w", o.Name, err)
	}
	o.Log = o.Log.With("sink", o.Name)
	s := &Sink[F]{o: o, room: semaphore.NewWeighted(heldBytes), crowded: make(chan struct{}, 1), done: make(chan struct{})}
	if o.Appliers > 0 {
		s.seats = make(chan struct{}, o.Appliers)
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("event sink %q: %w", o.Name, err)
	}
	o.Metrics.Expect(o.Name, o.hooks())
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	pulling, stopPulling := context.WithCancel(own)
	s.stopPulling = stopPulling
	applying, endApplying := context.WithCancel(own)
	s.endApplying = endApplying
	// Messages beyond the room wait here, not in the iterator: a full iterator
	// drops status messages of the server.
	incoming := make(chan jetstream.Msg, pullMessages)
	go s.pull(own, pulling, incoming)
	go s.run(applying, incoming)
	go s.watchLag(own)
	return s, nil
}

// Check returns why events cannot be applied at present, or nil. It is a
// health check.
func (s *Sink[F]) Check(context.Context) error {
	if f := s.fault.Load(); f != nil {
		return f.reason
	}
	began := s.round.Load()
	if age := time.Since(time.Unix(0, began)); began > 0 && age > stuckTime {
		return fmt.Errorf("event loop stuck for %s", age.Round(time.Second))
	}
	return nil
}

// CatchUp waits until no event is pending or in progress, but no longer than
// most.
func (s *Sink[F]) CatchUp(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		info, err := s.info(ctx)
		if err != nil || info.NumPending == 0 && info.NumAckPending == 0 {
			return
		}
		if retry.Sleep(ctx, settledPause) != nil {
			return
		}
	}
}

// Leave makes the sink take no more events, as other processes are to take them, or take
// them again. Those that it holds are applied.
func (s *Sink[F]) Leave(leave bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping || leave == (s.left != nil):
	case leave:
		s.left = make(chan struct{})
		s.source.messages.Drain()
	default:
		close(s.left)
		s.left = nil
	}
}

// stay waits while the sink has left events to others, and reports whether it had.
func (s *Sink[F]) stay(ctx context.Context) bool {
	s.mu.Lock()
	left := s.left
	s.mu.Unlock()
	if left == nil {
		return false
	}
	select {
	case <-left:
	case <-ctx.Done():
	}
	return true
}

// Stop takes no further events, and applies and acknowledges those it holds,
// until ctx ends. With [SinkOptions.Appliers] it returns them to the stream.
func (s *Sink[F]) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.source.messages.Drain()
	if s.left != nil {
		close(s.left)
		s.left = nil
	}
	s.mu.Unlock()
	defer s.cancel()
	if s.seats != nil {
		s.endApplying()
	}
	// An unreachable server cannot confirm that no more messages come.
	nc := s.o.JS.Conn()
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

// watchLag reports how far the durable is behind, and whether events can be
// applied.
func (s *Sink[F]) watchLag(ctx context.Context) {
	tick := time.NewTicker(lagPause)
	defer tick.Stop()
	for {
		s.lookAgain(ctx)
		s.reportLag(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.done:
			return
		case <-tick.C:
		}
	}
}

func (s *Sink[F]) reportLag(ctx context.Context) {
	blocked := 0.0
	if s.Check(ctx) != nil {
		blocked = 1
	}
	s.o.Metrics.blocked.WithLabelValues(s.o.Name).Set(blocked)
	info, err := s.info(ctx)
	if err != nil {
		s.o.Metrics.pending.DeleteLabelValues(s.o.Name)
		s.o.Metrics.ackPending.DeleteLabelValues(s.o.Name)
		return
	}
	s.o.Metrics.pending.WithLabelValues(s.o.Name).Set(float64(info.NumPending))
	s.o.Metrics.ackPending.WithLabelValues(s.o.Name).Set(float64(info.NumAckPending))
}

// info asks the server about the durable.
func (s *Sink[F]) info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return s.current().durable.Info(ctx)
}
