package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"intenthint/internal/panics"
)

// Limit bounds how many calls are under way at once. There is no queue: one
// more is [ErrOverloaded].
type Limit chan struct{}

// NewLimit returns a limit of n calls.
func NewLimit(n int) Limit { return make(Limit, n) }

// Start sets f to work, when the limit has a place, and gives it the given share
// (0–1] of the time that ctx has left. The function it returns waits for the
// answer, but not longer than that; errors are [ErrDeadline], [ErrFailed] and
// [ErrOverloaded]. The place is free again when f has returned, not when its
// caller has lost patience: calls that ignore their context must not pile up.
func Start[T any](ctx context.Context, limit Limit, share float64, f func(context.Context) (T, error)) (wait func() (T, error)) {
	type answer struct {
		value T
		err   error
	}
	refuse := func(err error) func() (T, error) { return func() (T, error) { return *new(T), err } }
	if err := ctx.Err(); err != nil {
		return refuse(fmt.Errorf("%w: %w", ErrDeadline, err))
	}
	select {
	case limit <- struct{}{}:
	default:
		return refuse(ErrOverloaded)
	}
	own, cancel := context.WithCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		own, cancel = context.WithTimeout(ctx, time.Duration(share*float64(time.Until(deadline))))
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
		// The place first: whoever has the answer may ask again at once.
		<-limit
		answered <- a
	}()
	return func() (T, error) {
		select {
		case a := <-answered:
			return a.value, a.err
		case <-own.Done():
		}
		// Both may be ready; an answer that is there is given.
		select {
		case a := <-answered:
			return a.value, a.err
		default:
			return *new(T), fmt.Errorf("%w: %w", ErrDeadline, own.Err())
		}
	}
}
