package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/panics"
)

// item is an event in progress.
type item[F any] struct {
	fact F
	hook string
	msg  jetstream.Msg
	// since is when the server was last told that it is in progress.
	since time.Time
}

// run gathers messages by session and applies them, several sessions at once
// and each one at a time.
func (s *Sink[F]) run(ctx context.Context, in <-chan jetstream.Msg) {
	defer close(s.done)
	defer s.pulse.end()
	gather := newGatherer[*item[F]](time.Now(), s.rest)
	type outcome struct {
		session *gathered[*item[F]]
		took    time.Duration
	}
	finished := make(chan outcome, appliers)
	letters := make(chan letter, pullMessages)
	var buried sync.WaitGroup
	buried.Go(func() { s.bury(ctx, letters) })
	alarm := time.NewTimer(time.Hour)
	// The durable's AckWait may differ from ours.
	remind := time.NewTicker(min(bus.AckWait, s.current().ackWait) / 6)
	defer remind.Stop()
	for working := 0; ; {
		now := time.Now()
		s.pulse.beat(now) // as often as remind at least
		// Sessions do not rest when no more events come, or when there is no
		// room for more and no session is being written. All held events are
		// then written, and meanwhile the next ones gather: the size of writes
		// grows with the backlog.
		if in == nil || working == 0 && s.full.Load() {
			gather.hurry(now)
		}
		for working < appliers {
			next := gather.next(now)
			if next == nil {
				break
			}
			working++
			go func() {
				began := time.Now()
				s.apply(ctx, next.session, next.working)
				finished <- outcome{next, time.Since(began)}
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
			if ev, keep := s.decode(m, letters); keep {
				gather.add(ev.Session, &item[F]{ev.Fact, ev.Hook, m, time.Now()}, time.Now())
			}
		case o := <-finished:
			working--
			gather.finished(o.session, o.took, time.Now())
		case <-s.crowded:
		case <-alarm.C:
		case now := <-remind.C:
			s.remind(gather, now)
		}
	}
	close(letters)
	buried.Wait()
}

// weight is the share of the room that a message takes. The room holds
// heldEvents of the smallest messages.
func weight(m jetstream.Msg) int64 {
	return min(int64(len(m.Data()))+heldBytes/heldEvents, heldBytes)
}

// decode returns the item to apply and reports whether there is one: a message
// that cannot be decoded, or that belongs to no session, has none.
func (s *Sink[F]) decode(m jetstream.Msg, letters chan<- letter) (ev Event[F], keep bool) {
	// A panic counts as a failure of the event. Otherwise a redelivered event
	// would crash one process after another.
	err := panics.Catch(func() (err error) {
		ev, err = s.handler.Decode(m.Subject(), eventID(m.Headers()), m.Data())
		return err
	})
	if delivered(m) > 1 {
		count(s.metrics.redeliveries, ev.Hook)
	}
	switch {
	case err != nil:
		select {
		case letters <- letter{m, err}:
		default: // the dead letters are too slow; do not wait for them
			s.giveBack(m)
		}
		return ev, false
	case ev.Session == "":
		count(s.metrics.ignored, ev.Hook)
		s.ack(m)
		s.room.Release(weight(m))
		return ev, false
	}
	return ev, true
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
	if failed, err := s.applyAll(ctx, items); failed > 0 {
		s.log.Warn("events of a session not applied", "session", session, "failed", failed, "events", len(items), "error", err)
	}
	for _, i := range items {
		s.room.Release(weight(i.msg))
	}
}

// applyAll applies events of one session. If they fail, and the store is not the
// cause, it tries each half separately, down to the single events that fail. It
// returns their number and the last error.
func (s *Sink[F]) applyAll(ctx context.Context, items []*item[F]) (failed int, err error) {
	facts := make([]F, len(items))
	for n, i := range items {
		facts[n] = i.fact
	}
	err = panics.Catch(func() error { return s.handler.Apply(ctx, facts) })
	if err == nil {
		s.recovered()
		for _, i := range items {
			s.ack(i.msg)
			count(s.metrics.applied, i.hook)
		}
		return 0, nil
	}
	if fault := cmp.Or(s.handler.Check(ctx), temporary(err)); fault != nil {
		s.wait(items, fault)
		return 0, nil
	}
	s.recovered()
	if half := len(items) / 2; half > 0 && ctx.Err() == nil {
		n, early := s.applyAll(ctx, items[:half])
		more, late := s.applyAll(ctx, items[half:])
		return n + more, cmp.Or(late, early)
	}
	for _, i := range items {
		if n := delivered(i.msg); n < maxAttempts || ctx.Err() != nil {
			s.nak(i.msg, retryPause(n))
			continue
		}
		s.deadLetter(ctx, i.msg, i.hook, err)
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

// wait returns events to the stream while no event can be applied.
func (s *Sink[F]) wait(items []*item[F], fault error) {
	err := fmt.Errorf("events cannot be applied: %w", fault)
	if s.fault.Swap(&err) == nil {
		s.log.Error("events cannot be applied", "error", fault)
	}
	for _, i := range items {
		s.nak(i.msg, retryPause(delivered(i.msg)))
	}
}

func (s *Sink[F]) recovered() {
	if s.fault.Load() != nil && s.fault.Swap(nil) != nil {
		s.log.Info("events can be applied again")
	}
}

func (s *Sink[F]) ack(m jetstream.Msg) {
	if err := m.Ack(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		// It is redelivered, and counts once nevertheless.
		s.log.Debug("event not acknowledged", "error", err)
	}
}

func (s *Sink[F]) nak(m jetstream.Msg, pause time.Duration) {
	if err := m.NakWithDelay(pause); err != nil {
		s.log.Debug("event not returned", "error", err)
	}
}

func delivered(m jetstream.Msg) uint64 {
	meta, err := m.Metadata()
	if err != nil {
		return 1
	}
	return meta.NumDelivered
}

// retryPause grows with the deliveries of a message: 0.5 s to 30 s.
func retryPause(delivered uint64) time.Duration {
	return min(500*time.Millisecond<<min(max(delivered, 1)-1, 6), 30*time.Second)
}
