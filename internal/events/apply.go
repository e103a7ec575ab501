package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"intenthint/internal/bus"
	"intenthint/internal/panics"
	"intenthint/internal/tracing"
	"intenthint/subjects"
)

// item is an event in progress.
type item[F any] struct {
	fact F
	hook string
	msg  jetstream.Msg
	// reason is why the message cannot be decoded.
	reason error
	// since is when the server last heard that it is in progress.
	since time.Time
	// span is that of the event, from its receipt to its acknowledgement.
	span trace.Span
}

// run gathers messages by session and applies them, several sessions at once
// and each one at a time.
func (s *Sink[F]) run(ctx context.Context, in <-chan jetstream.Msg) {
	defer close(s.done)
	defer s.round.Store(0)
	gather := newGatherer[*item[F]](time.Now(), s.o.rest)
	type outcome struct {
		session *gathered[*item[F]]
		weight  int64
		took    time.Duration
	}
	atOnce := cmp.Or(s.o.Appliers, appliers)
	finished := make(chan outcome, atOnce)
	alarm := time.NewTimer(time.Hour)
	// The durable's AckWait may differ from ours.
	remind := time.NewTicker(min(bus.AckWait, s.current().ackWait) / 6)
	defer remind.Stop()
	writing := int64(0) // the weight of the events that are being applied
	for working := 0; ; {
		now := time.Now()
		s.round.Store(now.UnixNano()) // as often as remind at least
		for working < atOnce {
			// At the end, or when there is no room, sessions do not rest. Then half of
			// what is held is written while the other half gathers, so writes grow with
			// the backlog.
			next := gather.next(now, in == nil || s.full.Load() && writing < heldBytes/2)
			if next == nil {
				break
			}
			o := outcome{session: next, weight: weightOf(next.working)}
			working++
			writing += o.weight
			go func() {
				began := time.Now()
				s.apply(ctx, next.session, next.working)
				o.took = time.Since(began)
				finished <- o
			}()
		}
		if in == nil && working == 0 {
			break
		}
		if wait, some := gather.wait(now); some && working < atOnce {
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
			if session, i := s.decode(m); i != nil {
				gather.add(session, i, time.Now())
			}
		case o := <-finished:
			working--
			writing -= o.weight
			gather.finished(o.session, o.took, time.Now())
		case <-s.crowded:
		case <-alarm.C:
		case now := <-remind.C:
			s.remind(gather, now)
		}
	}
}

// weight is the share of the room that a message takes. The room holds
// heldEvents of the smallest messages.
func weight(m jetstream.Msg) int64 {
	return min(int64(len(m.Data()))+heldBytes/heldEvents, heldBytes)
}

func weightOf[F any](items []*item[F]) (sum int64) {
	for _, i := range items {
		sum += weight(i.msg)
	}
	return sum
}

// undecodable is the session of messages that cannot be decoded. No session has
// that name.
const undecodable = ""

// decode returns the item to work on and its session; the item is nil for a
// message that belongs to no session.
func (s *Sink[F]) decode(m jetstream.Msg) (session string, _ *item[F]) {
	now := time.Now()
	ev, err := s.o.Handler.decode(s.o.Layout.Prefix, m)
	if delivered(m) > 1 {
		count(s.o.Metrics.redeliveries, s.o.Name, ev.Hook)
	}
	switch {
	case err != nil:
		return undecodable, &item[F]{msg: m, reason: err, since: now, span: s.span(m, ev.Hook, now)}
	case ev.Session == "":
		count(s.o.Metrics.ignored, s.o.Name, ev.Hook)
		s.ack(m)
		s.release(weight(m), 1)
		return "", nil
	}
	return ev.Session, &item[F]{fact: ev.Fact, hook: ev.Hook, msg: m, since: now, span: s.span(m, ev.Hook, now)}
}

func (s *Sink[F]) span(m jetstream.Msg, hook string, received time.Time) trace.Span {
	return tracing.Event(context.Background(), "apply "+hook, m.Headers().Get(subjects.HeaderTraceparent), received, tracing.String("sink", s.o.Name))
}

// remind tells the server that events are still in progress, so that it does not
// redeliver them to another process.
func (s *Sink[F]) remind(gather *gatherer[*item[F]], now time.Time) {
	every := s.current().ackWait / 3
	gather.each(func(i *item[F]) {
		if now.Sub(i.since) >= every {
			i.since = now
			_ = i.msg.InProgress()
		}
	})
}

// apply applies the events of one session.
func (s *Sink[F]) apply(ctx context.Context, session string, items []*item[F]) {
	if session == undecodable {
		s.bury(ctx, items)
	} else if failed, err := s.applyAll(ctx, items); failed > 0 {
		s.lines.Warn(s.o.Log, "events of session not applied", "session", session, "failed", failed, "events", len(items), "error", err)
	}
	s.release(weightOf(items), len(items))
}

// applyAll applies events of one session. If they fail, and the store is not the
// cause, it tries each half separately, down to the single events that fail. It
// returns their number and the last error.
func (s *Sink[F]) applyAll(ctx context.Context, items []*item[F]) (failed int, err error) {
	facts := make([]F, len(items))
	for n, i := range items {
		facts[n] = i.fact
	}
	err = panics.Catch(func() error { return s.o.Handler.Apply(ctx, facts) })
	if err == nil {
		s.recovered()
		s.o.Metrics.lastApply.WithLabelValues(s.o.Name).SetToCurrentTime()
		for _, i := range items {
			s.ack(i.msg)
			s.tries.forget(i.msg)
			count(s.o.Metrics.applied, s.o.Name, i.hook)
			tracing.End(i.span, "")
		}
		return 0, nil
	}
	if ctx.Err() != nil { // Stop canceled it. Another process may start at once.
		for _, i := range items {
			s.nak(i.msg, 0)
			tracing.End(i.span, "stopped")
		}
		return 0, nil
	}
	if fault := cmp.Or(s.o.Handler.Check(ctx), temporary(err)); fault != nil {
		s.wait(items, fault)
		return 0, nil
	}
	s.recovered()
	if half := len(items) / 2; half > 0 {
		n, early := s.applyAll(ctx, items[:half])
		more, late := s.applyAll(ctx, items[half:])
		return n + more, cmp.Or(late, early)
	}
	for _, i := range items {
		if n := s.tries.failed(i.msg); n < maxAttempts {
			s.nak(i.msg, s.o.Pause(n))
		} else if s.deadLetter(ctx, i.msg, i.hook, err) {
			s.tries.forget(i.msg)
		}
		tracing.End(i.span, "failed")
	}
	return len(items), err
}

// temporary returns err if it is marked as temporary, else nil: Check may already
// succeed again.
func temporary(err error) error {
	if t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err); ok && t.Temporary() {
		return err
	}
	return nil
}

// A fault is why no event can be applied at present.
type fault struct {
	reason error
	// at is when it was last seen; tried means by applying events, which may go to
	// other processes from then on.
	at    time.Time
	tried bool
}

// wait returns events to the stream while no event can be applied.
func (s *Sink[F]) wait(items []*item[F], reason error) {
	f := fault{reason: fmt.Errorf("events cannot be applied: %w", innermost(reason)), at: time.Now(), tried: true}
	if s.fault.Swap(&f) == nil {
		s.o.Log.Error("events cannot be applied", "error", reason)
	}
	for _, i := range items {
		s.nak(i.msg, retryPause(delivered(i.msg)))
		tracing.End(i.span, "store")
	}
}

// innermost returns the cause of an error without what is wrapped around it: the
// names of files and keys hold those of sessions, and health checks show the cause
// to everybody.
func innermost(err error) error {
	for {
		var inner error
		switch x := err.(type) { //nolint:errorlint // every level is looked at
		case interface{ Unwrap() error }:
			inner = x.Unwrap()
		case interface{ Unwrap() []error }:
			if all := x.Unwrap(); len(all) > 0 {
				inner = all[0]
			}
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}

func (s *Sink[F]) recovered() {
	if s.fault.Load() != nil && s.fault.Swap(nil) != nil {
		s.o.Log.Info("events can be applied again")
	}
}

// lookAgain ends a fault that no event has shown for longer than they wait, if the
// handler finds nothing wrong: the next event may be far away, or another
// process's.
func (s *Sink[F]) lookAgain(ctx context.Context) {
	f := s.fault.Load()
	if f == nil || !f.tried || time.Since(f.at) <= 2*longestPause || s.o.Handler.Check(ctx) != nil {
		return
	}
	if s.fault.CompareAndSwap(f, nil) {
		s.o.Log.Info("events can be applied again")
	}
}

func (s *Sink[F]) ack(m jetstream.Msg) {
	if err := m.Ack(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		// It is redelivered, but still counts once.
		s.o.Log.Debug("event not acknowledged", "error", err)
	}
}

// nak returns an event to the stream, which redelivers it after a pause.
func (s *Sink[F]) nak(m jetstream.Msg, pause time.Duration) {
	again := m.Nak
	if pause > 0 {
		again = func() error { return m.NakWithDelay(pause) }
	}
	if err := again(); err != nil {
		s.o.Log.Debug("event not returned", "error", err)
	}
}

func delivered(m jetstream.Msg) uint64 {
	meta, err := m.Metadata()
	if err != nil {
		return 1
	}
	return meta.NumDelivered
}

// tries counts how often events failed here, by their number in the stream. The
// server's count of deliveries is more: events are also returned when this process
// stops, and while no event can be applied.
type tries struct {
	mu sync.Mutex
	by map[uint64]uint64
}

// deliveriesATry is how many deliveries count as one failure. It bounds how often an
// event fails in several processes, or in one that is restarted again and again. An
// event that waits for the end of an outage is delivered twice a minute, so it has
// all its tries left after eight hours.
const deliveriesATry = 200

// failed counts a failure of an event, and returns how many there are. Beyond
// heldEvents failing events, the failures of any of them are forgotten.
func (t *tries) failed(m jetstream.Msg) uint64 {
	meta, err := m.Metadata()
	if err != nil {
		return maxAttempts
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = make(map[uint64]uint64)
	}
	at := meta.Sequence.Stream
	if t.by[at] == 0 && len(t.by) >= heldEvents {
		for old := range t.by {
			delete(t.by, old)
			break
		}
	}
	t.by[at]++
	return max(t.by[at], meta.NumDelivered/deliveriesATry)
}

func (t *tries) forget(m jetstream.Msg) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.by) == 0 {
		return
	}
	if meta, err := m.Metadata(); err == nil {
		delete(t.by, meta.Sequence.Stream)
	}
}

// forgetAll is for a new stream, which counts from 1 again.
func (t *tries) forgetAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.by)
}

// longestPause is the longest backoff of an event that cannot be applied.
const longestPause = 30 * time.Second

// retryPause grows with the tries of an event: 0.5 s to [longestPause]. The server
// keeps it, with the event; it has no jitter, because the events of an outage come
// back one after the other anyway, and [Settled] counts on its sum.
func retryPause(tries uint64) time.Duration {
	return min(500*time.Millisecond<<min(max(tries, 1)-1, 6), longestPause)
}
