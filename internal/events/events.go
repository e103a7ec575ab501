package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"intenthint/internal/bus"
	"intenthint/internal/panics"
	"intenthint/subjects"
)

// Event is one message of the event stream, decoded by the caller's function.
type Event[F any] struct {
	// Session groups events; "" means that there is nothing to apply.
	Session string
	Fact    F
	Hook    string
}

// EventFunctions say what events mean.
type EventFunctions[F any] struct {
	// Decode makes a fact of a message. An error is final: the message is
	// dead-lettered at once.
	Decode func(subject, msgID string, data []byte) (Event[F], error)
	// Apply applies facts of one session. When it returns nil, a crash of the
	// process can no longer lose them. An error with a method Temporary that
	// returns true is not the fault of the facts, whatever Check says.
	Apply func(ctx context.Context, facts []F) error
	// Check says whether facts can be applied at all now. A failure of Apply
	// while Check fails too is not the event's fault and is retried for ever.
	Check func(ctx context.Context) error
}

// EventObserver is told what becomes of events.
type EventObserver interface {
	// EventApplied counts an event of a hook that was applied.
	EventApplied(hook string)
	// EventIgnored counts an event of which nothing is kept.
	EventIgnored(hook string)
	// Redelivery counts an event of a hook that came more than once.
	Redelivery(hook string)
	// DeadLetter counts a dead letter.
	DeadLetter(hook string)
	// Lag reports the events that wait in the stream and those that some
	// process holds.
	Lag(pending uint64, ackPending int)
}

// Bounds of the event path.
const (
	// heldEvents and heldBytes bound what is taken and not acknowledged yet.
	heldEvents = 4096
	heldBytes  = 8 << 20
	// maxAttempts is how often an event may fail by itself before it is
	// dead-lettered.
	maxAttempts = 5
	// appliers is how many sessions are written at once. They wait for the
	// disk, which syncs many files together in little more time than one.
	appliers = 64
	// letterRest is how long no dead letter is tried after one could not be
	// kept.
	letterRest = time.Second
	// settleTime is how long a server may take to remove the files of a stream
	// after it has said that it is deleted. A new one of the same name that is
	// made meanwhile loses its files with them, and takes no event until the
	// server starts again.
	settleTime = time.Second
	// heartbeat is how often an idle durable says that it is there; after two
	// silent ones it is looked for.
	heartbeat = 2 * time.Second
)

// retryPause grows with the deliveries of a message: 0.5 s to 30 s.
func retryPause(delivered uint64) time.Duration {
	return min(500*time.Millisecond<<min(max(delivered, 1)-1, 6), 30*time.Second)
}

// Events applies the events of the stream. All processes share the durable.
type Events[F any] struct {
	js       jetstream.JetStream
	layout   bus.Layout
	fn       EventFunctions[F]
	observer EventObserver
	log      *slog.Logger

	// room bounds all events taken from the iterator, see weight.
	room   *semaphore.Weighted
	done   chan struct{}
	cancel context.CancelFunc
	// stopPulling ends a pull that nothing comes from any more.
	stopPulling context.CancelFunc
	fault       atomic.Pointer[error]
	pulse       pulse // of run

	mu       sync.Mutex // guards what follows
	source   source
	stopping bool
}

// source is where events come from: the durable and a pull from it.
type source struct {
	durable  jetstream.Consumer
	messages jetstream.MessagesContext
	ackWait  time.Duration
}

// StartEvents begins to apply the events of the durable, which must exist.
func StartEvents[F any](ctx context.Context, js jetstream.JetStream, layout bus.Layout, fn EventFunctions[F], observer EventObserver, log *slog.Logger) (*Events[F], error) {
	e := &Events[F]{js: js, layout: layout, fn: fn, observer: observer, log: log, room: semaphore.NewWeighted(heldBytes), done: make(chan struct{})}
	durable, err := js.Consumer(ctx, layout.Stream, layout.QueueGroup)
	if err != nil {
		return nil, fmt.Errorf("durable %s: %w", layout.QueueGroup, err)
	}
	if err := e.open(durable); err != nil {
		return nil, err
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	pulling, stopPulling := context.WithCancel(own)
	e.stopPulling = stopPulling
	// What cannot be taken yet waits here, not in the iterator: one that is
	// full drops what the server says of itself.
	incoming := make(chan jetstream.Msg, bus.PullMessages)
	go e.pull(own, pulling, incoming)
	go e.run(own, incoming)
	go e.watchLag(own)
	return e, nil
}

// open begins to pull from a durable.
func (e *Events[F]) open(durable jetstream.Consumer) error {
	messages, err := durable.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(bus.PullMessages, bus.PullBytes(e.js.Conn())),
		jetstream.PullExpiry(bus.PullExpiry),
		jetstream.PullHeartbeat(heartbeat),
		jetstream.WithMessagesErrOnMissingHeartbeat(true),
	)
	if err != nil {
		return fmt.Errorf("pull from durable %s: %w", e.layout.QueueGroup, err)
	}
	from := source{durable: durable, messages: messages, ackWait: bus.AckWait}
	if info := durable.CachedInfo(); info != nil && info.Config.AckWait > 0 {
		from.ackWait = info.Config.AckWait
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping {
		messages.Stop()
	}
	e.source = from
	return nil
}

func (e *Events[F]) current() source {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.source
}

// Check returns why events cannot be applied at present, or nil. It is a
// health check.
func (e *Events[F]) Check(context.Context) error {
	if p := e.fault.Load(); p != nil {
		return *p
	}
	return e.pulse.check(time.Now())
}

// stuckTime is how long a loop may take for one round until it counts as stuck.
const stuckTime = 30 * time.Second

// pulse says whether a loop goes round; the zero value is of one that has not
// begun, or has ended.
type pulse struct {
	last atomic.Int64 // the beginning of a round, in Unix nanoseconds
}

func (p *pulse) beat(now time.Time) { p.last.Store(now.UnixNano()) }

func (p *pulse) end() { p.last.Store(0) }

func (p *pulse) check(now time.Time) error {
	last := p.last.Load()
	if age := now.Sub(time.Unix(0, last)); last > 0 && age > stuckTime {
		return fmt.Errorf("events are not taken: the same one has been decoded for %s", age.Round(time.Second))
	}
	return nil
}

// CatchUp waits until no event waits in the stream or in work, or the time is
// over.
func (e *Events[F]) CatchUp(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		info, err := e.current().durable.Info(ctx)
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
func (e *Events[F]) Stop(ctx context.Context) error {
	e.mu.Lock()
	e.stopping = true
	e.source.messages.Drain()
	e.mu.Unlock()
	defer e.cancel()
	// A server that is away cannot say that nothing more comes.
	nc := e.js.Conn()
	lost := nc.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	defer nc.RemoveStatusListener(lost)
	if nc.Status() != nats.CONNECTED {
		e.stopPulling()
	}
	for {
		select {
		case <-e.done:
			return nil
		case <-lost:
			e.stopPulling()
			lost = nil
		case <-ctx.Done():
			return fmt.Errorf("events are still being applied: %w", ctx.Err())
		}
	}
}

// pull moves messages from the client's buffer to the collector. When the
// durable was deleted, by an operator or with its stream, it is made again.
func (e *Events[F]) pull(ctx, pulling context.Context, out chan<- jetstream.Msg) {
	defer close(out)
	for {
		m, err := e.current().messages.Next(jetstream.NextContext(pulling))
		switch {
		case pulling.Err() != nil:
			return
		case err == nil:
			if e.room.Acquire(ctx, weight(m)) != nil {
				return
			}
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			if !e.reopen(ctx) {
				return
			}
		default:
			// The iterator goes on by itself, after a reconnect or when a
			// leader was elected, unless there is nothing left to pull from.
			e.log.Warn("pulling events", "error", err)
			if e.durableGone(ctx) {
				e.current().messages.Stop()
				continue
			}
			select {
			case <-time.After(250 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}
}

// durableGone says whether the durable, or its stream, certainly exists no more.
func (e *Events[F]) durableGone(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := e.current().durable.Info(ctx)
	return errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}

// ending says whether Stop was called.
func (e *Events[F]) ending() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stopping
}

// reopen provisions again and pulls anew, as often as it takes. It returns
// false once the events are to stop.
func (e *Events[F]) reopen(ctx context.Context) bool {
	for attempt := 1; ; attempt++ {
		if e.ending() {
			return false
		}
		select {
		case <-ctx.Done():
		case <-time.After(settleTime):
		}
		if e.ending() || ctx.Err() != nil {
			return false
		}
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		p, err := bus.Provision(once, e.js, e.layout)
		cancel()
		if err == nil {
			err = e.open(p.Durable)
		}
		if err == nil {
			e.log.Warn("the durable was gone, events are pulled again", "durable", e.layout.QueueGroup)
			e.recovered()
			return true
		}
		failure := fmt.Errorf("events cannot be pulled: %w", err)
		e.fault.Store(&failure)
		e.log.Error("events cannot be pulled", "attempt", attempt, "error", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(bus.Backoff(attempt)):
		}
	}
}

// item is an event in work.
type item[F any] struct {
	fact F
	hook string
	msg  jetstream.Msg
	// since is when the server was last told that it is in work.
	since time.Time
}

// run gathers messages by session and applies them, several sessions at once
// and each one at a time.
func (e *Events[F]) run(ctx context.Context, in <-chan jetstream.Msg) {
	defer close(e.done)
	defer e.pulse.end()
	gather := newGatherer[*item[F]](time.Now())
	type outcome struct {
		session *gathered[*item[F]]
		took    time.Duration
	}
	finished := make(chan outcome, appliers)
	letters := make(chan letter, bus.PullMessages)
	var buried sync.WaitGroup
	buried.Go(func() { e.bury(ctx, letters) })
	alarm := time.NewTimer(time.Hour)
	// The durable's time to acknowledge may be another one than ours.
	remind := time.NewTicker(min(bus.AckWait, e.current().ackWait) / 6)
	defer remind.Stop()
	for working := 0; ; {
		now := time.Now()
		e.pulse.beat(now) // as often as remind at least
		if in == nil {
			gather.hurry(now)
		}
		for working < appliers {
			s := gather.next(now)
			if s == nil {
				break
			}
			working++
			go func() {
				began := time.Now()
				e.apply(ctx, s.session, s.working)
				finished <- outcome{s, time.Since(began)}
			}()
		}
		if in == nil && working == 0 {
			break
		}
		if wait, some := gather.wait(now); some && working < appliers {
			alarm.Reset(wait)
		} else {
			alarm.Stop()
		}
		select {
		case m, open := <-in:
			if !open {
				in = nil
				break
			}
			if ev, keep := e.decode(m, letters); keep {
				gather.add(ev.Session, &item[F]{ev.Fact, ev.Hook, m, time.Now()}, time.Now())
			}
		case o := <-finished:
			working--
			gather.finished(o.session, o.took, time.Now())
		case <-alarm.C:
		case now := <-remind.C:
			e.remind(gather, now)
		}
	}
	close(letters)
	buried.Wait()
}

// weight is what a message takes of the room, which holds heldEvents of the
// smallest.
func weight(m jetstream.Msg) int64 {
	return min(int64(len(m.Data()))+heldBytes/heldEvents, heldBytes)
}

// decode says what is to be applied of a message; nothing is kept of one that
// cannot be decoded, and of one that concerns no session.
func (e *Events[F]) decode(m jetstream.Msg, letters chan<- letter) (ev Event[F], keep bool) {
	// A panic is the event's failure: it would end one process after another.
	err := panics.Catch(func() (err error) {
		ev, err = e.fn.Decode(m.Subject(), eventID(m.Headers()), m.Data())
		return err
	})
	if delivered(m) > 1 {
		e.observer.Redelivery(ev.Hook)
	}
	switch {
	case err != nil:
		select {
		case letters <- letter{m, err}:
		default: // so slow are the letters; nobody waits for them
			e.giveBack(m)
		}
		return ev, false
	case ev.Session == "":
		e.observer.EventIgnored(ev.Hook)
		e.ack(m)
		e.room.Release(weight(m))
		return ev, false
	}
	return ev, true
}

// letter is a message that cannot be decoded.
type letter struct {
	msg    jetstream.Msg
	reason error
}

// bury keeps dead letters. After one that could not be kept those that follow
// are given back for a while, instead of filling the room of other events.
func (e *Events[F]) bury(ctx context.Context, letters <-chan letter) {
	var rested time.Time
	for l := range letters {
		if time.Now().Before(rested) {
			e.giveBack(l.msg)
			continue
		}
		// What cannot be decoded cannot say its hook either.
		if !e.deadLetter(ctx, l.msg, e.layout.Prefix.EventHook(l.msg.Subject()), l.reason) {
			rested = time.Now().Add(letterRest)
		}
		e.room.Release(weight(l.msg))
	}
}

// giveBack returns a message that holds room to the stream.
func (e *Events[F]) giveBack(m jetstream.Msg) {
	e.nak(m, retryPause(delivered(m)))
	e.room.Release(weight(m))
}

// remind tells the server that events are still in work which it would give to
// another process otherwise.
func (e *Events[F]) remind(gather *gatherer[*item[F]], now time.Time) {
	every := e.current().ackWait / 3
	gather.each(func(i *item[F]) {
		if now.Sub(i.since) >= every {
			i.since = now
			_ = i.msg.InProgress()
		}
	})
}

// apply applies the events of one session.
func (e *Events[F]) apply(ctx context.Context, session string, items []*item[F]) {
	if failed, err := e.applyAll(ctx, items); failed > 0 {
		e.log.Warn("events of a session could not be applied", "session", session, "failed", failed, "of", len(items), "error", err)
	}
	for _, i := range items {
		e.room.Release(weight(i.msg))
	}
}

// applyAll applies events of one session. When they fail by their own fault
// each half is tried by itself, so that in the end only those events are
// blamed, and wait, that fail alone. It returns their number and the last error.
func (e *Events[F]) applyAll(ctx context.Context, items []*item[F]) (failed int, err error) {
	facts := make([]F, len(items))
	for n, i := range items {
		facts[n] = i.fact
	}
	err = panics.Catch(func() error { return e.fn.Apply(ctx, facts) })
	if err == nil {
		e.recovered()
		for _, i := range items {
			e.ack(i.msg)
			e.observer.EventApplied(i.hook)
		}
		return 0, nil
	}
	if fault := cmp.Or(e.fn.Check(ctx), temporary(err)); fault != nil {
		e.wait(items, fault)
		return 0, nil
	}
	e.recovered()
	if half := len(items) / 2; half > 0 && ctx.Err() == nil {
		n, early := e.applyAll(ctx, items[:half])
		more, late := e.applyAll(ctx, items[half:])
		return n + more, cmp.Or(late, early)
	}
	for _, i := range items {
		if n := delivered(i.msg); n < maxAttempts || ctx.Err() != nil {
			e.nak(i.msg, retryPause(n))
			continue
		}
		e.deadLetter(ctx, i.msg, i.hook, err)
	}
	return len(items), err
}

// temporary returns an error that says of itself that it will pass: what was
// away may be there again when Check looks for it.
func temporary(err error) error {
	if t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err); ok && t.Temporary() {
		return err
	}
	return nil
}

// wait returns events that fail because nothing can be applied now.
func (e *Events[F]) wait(items []*item[F], fault error) {
	err := fmt.Errorf("events cannot be applied: %w", fault)
	if e.fault.Swap(&err) == nil {
		e.log.Error("events wait until they can be applied", "error", fault)
	}
	for _, i := range items {
		e.nak(i.msg, retryPause(delivered(i.msg)))
	}
}

func (e *Events[F]) recovered() {
	if e.fault.Load() != nil && e.fault.Swap(nil) != nil {
		e.log.Info("events are being applied again")
	}
}

// deadLetter keeps the message, unchanged, in the dead-letter stream and takes
// it out of the durable. When that cannot be done now it comes again, and the
// result is false.
func (e *Events[F]) deadLetter(ctx context.Context, m jetstream.Msg, hook string, reason error) bool {
	letter := &nats.Msg{
		Subject: e.layout.Prefix.DeadLetter(hook),
		Data:    m.Data(),
		Header:  nats.Header{},
	}
	letter.Header.Set(subjects.HeaderDLQReason, oneLine(reason.Error()))
	letter.Header.Set(subjects.HeaderDLQSubject, m.Subject())
	if id := eventID(m.Headers()); id != "" {
		letter.Header.Set(subjects.HeaderDLQMsgID, id)
	}
	if trace := m.Headers().Get(subjects.HeaderTraceparent); trace != "" {
		letter.Header.Set(subjects.HeaderTraceparent, trace)
	}
	if meta, err := m.Metadata(); err == nil {
		// The same event is one dead letter, however often it is delivered.
		letter.Header.Set(subjects.HeaderMsgID, fmt.Sprintf("dlq-%s-%d", meta.Stream, meta.Sequence.Stream))
	}
	publish, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := e.js.PublishMsg(publish, letter)
	if errors.Is(err, nats.ErrMaxPayload) {
		// The letter's headers are what is too much. The event stays in the
		// event stream, where the sequence finds it.
		e.log.Error("an event is too large for a dead letter", "subject", m.Subject(), "id", letter.Header.Get(subjects.HeaderMsgID), "reason", reason)
		err = nil
	}
	if err != nil {
		e.log.Error("a dead letter could not be kept, it will be tried again", "subject", m.Subject(), "reason", reason, "error", err)
		e.nak(m, retryPause(delivered(m)))
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			e.provision(ctx)
		}
		return false
	}
	e.observer.DeadLetter(hook)
	e.log.Warn("dead letter", "subject", m.Subject(), "reason", reason)
	if err := m.TermWithReason(oneLine(reason.Error())); err != nil {
		e.log.Warn("terminating an event", "error", err)
	}
	return true
}

// provision makes again what was deleted.
func (e *Events[F]) provision(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(settleTime):
	}
	once, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := bus.Provision(once, e.js, e.layout); err != nil {
		e.log.Warn("the stream of dead letters cannot be made again", "error", err)
	}
}

func (e *Events[F]) ack(m jetstream.Msg) {
	if err := m.Ack(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		// It comes again, and is counted once all the same.
		e.log.Debug("acknowledging an event", "error", err)
	}
}

func (e *Events[F]) nak(m jetstream.Msg, pause time.Duration) {
	if err := m.NakWithDelay(pause); err != nil {
		e.log.Debug("returning an event", "error", err)
	}
}

// watchLag reports how far the durable is behind.
func (e *Events[F]) watchLag(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.done:
			return
		case <-tick.C:
		}
		ask, cancel := context.WithTimeout(ctx, 2*time.Second)
		info, err := e.current().durable.Info(ask)
		cancel()
		if err == nil {
			e.observer.Lag(info.NumPending, info.NumAckPending)
		}
	}
}

// eventID is the id that an event's headers give it. A dead letter that is
// replayed has a Nats-Msg-Id of its own and keeps that of its first publication,
// or the lack of one, beside it.
func eventID(h nats.Header) string {
	if first, replayed := h[subjects.HeaderDLQMsgID]; replayed && len(first) > 0 {
		return first[0]
	}
	return h.Get(subjects.HeaderMsgID)
}

func delivered(m jetstream.Msg) uint64 {
	meta, err := m.Metadata()
	if err != nil {
		return 1
	}
	return meta.NumDelivered
}
