package model

import (
	"context"
	"sync"
	"time"
)

// flights are the questions in progress, each with one answer for all its
// callers (singleflight). The zero value is ready for use.
//
// golang.org/x/sync/singleflight does not count who still waits: a question would
// go on, and cost tokens, when all callers have left.
type flights struct {
	mu     sync.Mutex
	flying map[any]any // flightKey[V] → *flight[V]
}

// flightKey is the key of a question whose answer is a V.
type flightKey[V any] struct{ question any }

// flight is one question on its way. It belongs to all callers that wait for
// it, and is canceled when the last of them has gone; no caller can cancel it
// for the others.
type flight[V any] struct {
	done   chan struct{}
	cancel context.CancelCauseFunc

	waiting int // the lock of flights is held

	// result and err are set when done is closed.
	result V
	err    error
}

// answerer answers a question. Its context ends when no caller waits any more,
// with the cause of the last caller that left. The deadline is that of the
// first caller, zero for none.
type answerer[V any] func(ctx context.Context, deadline time.Time) (V, error)

// share returns the answer to a question. If the same question is in progress,
// it shares that answer and reports OutcomeShared for ref; else it calls f. It
// returns when ctx is done, except that the last caller to leave waits until f
// has returned. Errors are [ErrDeadline] and [ErrFailed].
func share[V any](ctx context.Context, fs *flights, o Options, ref string, question any, f answerer[V]) (result V, err error) {
	if err := ctx.Err(); err != nil {
		return result, failure(ctx, err)
	}
	key := flightKey[V]{question}
	fs.mu.Lock()
	fl, shared := fs.flying[key].(*flight[V])
	if !shared {
		fl = launch(ctx, fs, key, f)
	}
	fl.waiting++
	fs.mu.Unlock()

	select {
	case <-fl.done:
	case <-ctx.Done():
		fs.mu.Lock()
		fl.waiting--
		last := fl.waiting == 0
		if last {
			fs.land(key, fl)
			fl.cancel(context.Cause(ctx))
		}
		fs.mu.Unlock()
		if last {
			<-fl.done
		} else {
			err = ctx.Err()
		}
	}
	if shared {
		o.observe(Call{Ref: ref, Outcome: OutcomeShared})
	}
	if err == nil {
		result, err = fl.result, fl.err
	}
	if err != nil {
		return *new(V), failure(ctx, err)
	}
	return result, nil
}

// launch starts a flight. The lock is held.
func launch[V any](ctx context.Context, fs *flights, key flightKey[V], f answerer[V]) *flight[V] {
	deadline, _ := ctx.Deadline()
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl := &flight[V]{done: make(chan struct{}), cancel: cancel}
	if fs.flying == nil {
		fs.flying = make(map[any]any)
	}
	fs.flying[key] = fl
	go func() {
		defer cancel(nil)
		fl.result, fl.err = f(own, deadline)
		fs.mu.Lock()
		fs.land(key, fl)
		fs.mu.Unlock()
		close(fl.done)
	}()
	return fl
}

// land removes the flight, so that no caller can join. The lock is held.
func (fs *flights) land(key, fl any) {
	if fs.flying[key] == fl {
		delete(fs.flying, key)
	}
}
