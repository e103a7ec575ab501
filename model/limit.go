package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"intenthint/internal/panics"
)

// Limit bounds the number of concurrent calls. There is no queue: one more call
// fails with [ErrOverloaded].
type Limit chan struct{}

// NewLimit returns a limit of n calls.
func NewLimit(n int) Limit { return make(Limit, n) }

// Start runs f if the limit has room, with the given share, in (0, 1], of the
// remaining time of ctx. The returned function waits for the answer, but no
// longer than that; errors are [ErrDeadline], [ErrFailed] and [ErrOverloaded].
// The place is freed when f returns, not when its caller gives up: calls that
// ignore their context must not pile up.
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
		// Free the place first: a caller that has the answer may ask again at once.
		<-limit
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
