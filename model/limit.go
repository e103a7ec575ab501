package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"intenthint/internal/panics"
)

// Limit bounds the number of concurrent calls. There is no queue: one more call
// fails with [ErrOverloaded].
//
// The callers that asked lately share the places, so that one of them cannot take
// all: each has at most its share, rounded up. A caller that asks alone may have
// all places.
type Limit struct {
	size int

	mu      sync.Mutex
	taken   int
	callers map[string]caller
}

// caller is a caller that asked lately or that has places.
type caller struct {
	taken int
	asked time.Time // the last time
}

const (
	// lately is how long a caller keeps its share after it asked.
	lately = 10 * time.Second
	// maxCallers bounds the callers that are told apart. Further ones share the
	// places of one caller.
	maxCallers = 256
)

// NewLimit returns a limit of n calls.
func NewLimit(n int) *Limit { return &Limit{size: n, callers: make(map[string]caller)} }

type callerKey struct{}

// WithCaller returns a context whose calls are those of a caller, see [Limit].
// Without it all calls are those of one caller.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// take takes a place for a context's caller and returns the function that frees it;
// ok is false if no place is free.
func (l *Limit) take(ctx context.Context) (free func(), ok bool) {
	name, _ := ctx.Value(callerKey{}).(string)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.callers, func(_ string, c caller) bool { return c.taken == 0 && now.Sub(c.asked) > lately })
	if _, known := l.callers[name]; !known && len(l.callers) >= maxCallers {
		name = ""
	}
	own := l.callers[name]
	own.asked = now
	l.callers[name] = own
	share := (l.size + len(l.callers) - 1) / len(l.callers)
	if l.taken >= l.size || own.taken >= share {
		return nil, false
	}
	l.change(name, 1)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.change(name, -1)
	}, true
}

// change counts places of a caller. The lock is held.
func (l *Limit) change(name string, by int) {
	own := l.callers[name]
	own.taken += by
	l.callers[name] = own
	l.taken += by
}

// Start runs f if the limit has room, with the given share, in (0, 1], of the
// remaining time of ctx. The returned function waits for the answer, but no
// longer than that; errors are [ErrDeadline], [ErrFailed] and [ErrOverloaded].
// The place is freed when f returns, not when its caller gives up: calls that
// ignore their context must not pile up.
func Start[T any](ctx context.Context, limit *Limit, share float64, f func(context.Context) (T, error)) (wait func() (T, error)) {
	type answer struct {
		value T
		err   error
	}
	refuse := func(err error) func() (T, error) { return func() (T, error) { return *new(T), err } }
	if err := ctx.Err(); err != nil {
		return refuse(fmt.Errorf("%w: %w", ErrDeadline, err))
	}
	free, ok := limit.take(ctx)
	if !ok {
		return refuse(ErrOverloaded)
	}
	var own context.Context
	var cancel context.CancelFunc
	if deadline, ok := ctx.Deadline(); ok {
		own, cancel = context.WithTimeout(ctx, time.Duration(share*float64(time.Until(deadline))))
	} else {
		own, cancel = context.WithCancel(ctx)
	}
	answered := make(chan answer, 1)
	go func() {
		defer cancel()
		var a answer
		a.err = panics.Catch(func() (err error) {
			a.value, err = f(own)
			return err
		})
		if a.err != nil && !errors.Is(a.err, ErrFailed) && !errors.Is(a.err, ErrDeadline) {
			a.err = failure(own, a.err)
		}
		// Free the place first: a caller that has the answer may ask again at once.
		free()
		answered <- a
	}()
	return func() (T, error) {
		select {
		case a := <-answered:
			return a.value, a.err
		case <-own.Done():
		}
		// Both may be ready; prefer an available answer.
		select {
		case a := <-answered:
			return a.value, a.err
		default:
			return *new(T), fmt.Errorf("%w: %w", ErrDeadline, own.Err())
		}
	}
}
