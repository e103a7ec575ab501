package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/retry"
)

// source is where events come from: the durable and a pull from it.
type source struct {
	durable  jetstream.Consumer
	messages jetstream.MessagesContext
	ackWait  time.Duration
}

// open starts a pull from the durable.
func (s *Sink[F]) open(ctx context.Context) error {
	durable, err := s.o.JS.Consumer(ctx, s.o.Layout.Stream, s.o.Durable)
	if err != nil {
		return fmt.Errorf("durable %s: %w", s.o.Durable, err)
	}
	ahead := pullMessages
	if s.seats != nil {
		ahead = 1 // The iterator asks for a message when it is asked for one.
	}
	messages, err := durable.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(ahead, bus.PullBytes(s.o.JS.Conn())),
		jetstream.PullExpiry(bus.PullExpiry),
		jetstream.PullHeartbeat(heartbeat),
		jetstream.WithMessagesErrOnMissingHeartbeat(true),
	)
	if err != nil {
		return fmt.Errorf("pull from durable %s: %w", s.o.Durable, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		messages.Stop()
	case s.left != nil:
		messages.Drain()
	}
	s.source = source{durable: durable, messages: messages, ackWait: durable.CachedInfo().Config.AckWait}
	return nil
}

func (s *Sink[F]) current() source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source
}

// pull moves messages from the client's buffer to the collector. If the durable
// was deleted, alone or with its stream, it is recreated.
func (s *Sink[F]) pull(ctx, pulling context.Context, out chan<- jetstream.Msg) {
	defer close(out)
	for {
		if !s.sit(ctx) {
			return
		}
		m, err := s.current().messages.Next(jetstream.NextContext(pulling))
		if err != nil {
			s.leave(1)
		}
		switch {
		case pulling.Err() != nil:
			return
		case err == nil:
			if s.enter(ctx, weight(m)) != nil {
				return
			}
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			if left := s.stay(pulling); !s.reopen(ctx, left && !s.durableGone(ctx)) {
				return
			}
		default:
			// The iterator recovers from reconnects and leader elections, but
			// not from a deleted durable.
			s.lines.Warn(s.o.Log, "pull failed", "error", err)
			if s.durableGone(ctx) {
				s.current().messages.Stop()
				continue
			}
			if retry.Sleep(ctx, pullPause) != nil {
				return
			}
		}
	}
}

// sit waits for a seat if the sink has seats.
func (s *Sink[F]) sit(ctx context.Context) bool {
	if s.seats == nil {
		return true
	}
	select {
	case s.seats <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave gives seats back.
func (s *Sink[F]) leave(seats int) {
	for range seats {
		if s.seats != nil {
			<-s.seats
		}
	}
}

// release returns the room and seats of events that are no longer held.
func (s *Sink[F]) release(weight int64, events int) {
	s.room.Release(weight)
	s.leave(events)
}

// enter waits for room. While it waits, no session rests (see run).
func (s *Sink[F]) enter(ctx context.Context, weight int64) error {
	if s.room.TryAcquire(weight) {
		return nil
	}
	s.full.Store(true)
	defer s.full.Store(false)
	select {
	case s.crowded <- struct{}{}:
	default:
	}
	return s.room.Acquire(ctx, weight)
}

// durableGone reports whether the durable or its stream was certainly
// deleted.
func (s *Sink[F]) durableGone(ctx context.Context) bool {
	_, err := s.info(ctx)
	return errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}

// pullPause is the pause after a failed pull: the iterator has pauses of its own.
const pullPause = 250 * time.Millisecond

// pullRetry bounds the pauses between attempts to create a durable again.
var pullRetry = retry.Backoff{First: 50 * time.Millisecond, Max: 5 * time.Second}

// reopen pulls again, from a durable that is there or that it recreates first, and
// retries until that succeeds. It returns false once the sink stops.
func (s *Sink[F]) reopen(ctx context.Context, there bool) bool {
	for attempt := 1; !s.ending(); attempt++ {
		var err error
		if !there {
			err = s.provision(ctx)
		}
		if err == nil {
			err = s.open(ctx)
		}
		if err == nil {
			s.recovered()
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		s.fault.Store(&fault{reason: fmt.Errorf("events cannot be pulled: %w", err), at: time.Now()})
		s.o.Log.Error("pull not restarted", "attempt", attempt, "error", err)
		_ = pullRetry.Wait(ctx, attempt)
	}
	return false
}

// ending reports whether Stop was called.
func (s *Sink[F]) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// provision recreates deleted streams and durables, once their files are gone.
func (s *Sink[F]) provision(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settleTime):
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := bus.Provision(ctx, s.o.JS, s.o.Layout); err != nil {
		return err
	}
	s.o.Log.Warn("durable recreated", "durable", s.o.Durable)
	s.tries.forgetAll()
	return nil
}
