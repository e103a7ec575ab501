package model

import (
	"context"
	"sync"
	"time"
)

// flights are the questions under way, each with one answer for all who ask it
// (singleflight). The zero value is ready for use.
type flights struct {
	mu     sync.Mutex
	flying map[any]any // flightKey[V] → *flight[V]
}

// flightKey is the key of a question whose answer is a V.
type flightKey[V any] struct{ question any }

// flight is one question on its way. It belongs to all who wait for it, and ends
// early when the last of them has gone; none of them can end it for the others.
type flight[V any] struct {
	done   chan struct{}
	cancel context.CancelCauseFunc

	waiting int // the lock of flights is held

	// result and err are set when done is closed.
	result V
	err    error
}

// answerer answers a question. Its context ends when no caller waits any more, the
// cause being that of the last who left. The deadline is that of the first who
// asked, zero for none.
type answerer[V any] func(ctx context.Context, deadline time.Time) (V, error)

// share returns the answer to a question: that to the same question when it is
// under way already, which the observer is told of ref, else that of f. It
// returns when ctx is done, except that the last who leaves waits until f has
// returned. Errors are [ErrDeadline] and [ErrFailed].
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
