package classify

import (
	"context"
	"sync"
	"time"
)

// question is what a chain is asked; equal ones have equal answers.
type question struct {
	run    string // the run's own model
	prompt Prompt
}

// questions are those in flight, by key, each of which has one answer. The zero
// value is ready for use.
type questions[K comparable, V any] struct {
	mu     sync.Mutex
	flying map[K]*flight[V]
}

// flight is one question on its way. It belongs to all who wait for it, and
// ends early when the last of them has gone; none of them can end it for the
// others.
type flight[V any] struct {
	done   chan struct{}
	cancel context.CancelCauseFunc

	waiting int // the lock of questions is held

	// result and err are set when done is closed.
	result V
	err    error
}

// answerer answers a question. Its context ends when nobody waits any more, the
// cause being that of the last who left. The deadline is that of the first who
// asked, zero for none.
type answerer[V any] func(ctx context.Context, deadline time.Time) (V, error)

// ask returns the answer to q: that to the same question when it is in flight
// already (shared), else that of f. It returns when ctx is done, except that the
// last who leaves waits until f has returned.
func (qs *questions[K, V]) ask(ctx context.Context, q K, f answerer[V]) (result V, shared bool, err error) {
	qs.mu.Lock()
	fl, shared := qs.flying[q]
	if !shared {
		fl = qs.launch(ctx, q, f)
	}
	fl.waiting++
	qs.mu.Unlock()

	select {
	case <-fl.done:
	case <-ctx.Done():
		if !qs.leave(q, fl, context.Cause(ctx)) {
			return result, shared, ctx.Err()
		}
		<-fl.done
	}
	return fl.result, shared, fl.err
}

// launch starts a flight. The lock is held.
func (qs *questions[K, V]) launch(ctx context.Context, q K, f answerer[V]) *flight[V] {
	deadline, _ := ctx.Deadline()
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl := &flight[V]{done: make(chan struct{}), cancel: cancel}
	if qs.flying == nil {
		qs.flying = make(map[K]*flight[V])
	}
	qs.flying[q] = fl
	go func() {
		defer cancel(nil)
		fl.result, fl.err = f(own, deadline)
		qs.mu.Lock()
		qs.land(q, fl)
		qs.mu.Unlock()
		close(fl.done)
	}()
	return fl
}

// land lets nobody board any more. The lock is held.
func (qs *questions[K, V]) land(q K, fl *flight[V]) {
	if qs.flying[q] == fl {
		delete(qs.flying, q)
	}
}

// leave takes one who waits off the flight; the last one ends it.
func (qs *questions[K, V]) leave(q K, fl *flight[V], cause error) (last bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	fl.waiting--
	if fl.waiting > 0 {
		return false
	}
	qs.land(q, fl)
	fl.cancel(cause)
	return true
}
