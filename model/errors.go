package model

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Errors of asking. Each error of [Ask], [Embedder.Vectors] and [Pending.Wait]
// is one of the first three, and wraps what each model did. None holds a key.
var (
	// ErrFailed: no model gave a usable answer.
	ErrFailed = errors.New("no model gave a usable answer")
	// ErrDeadline: the caller's time ran out first, or would have: the only
	// model left is known to be late.
	ErrDeadline = errors.New("the model did not answer in time")
	// ErrOverloaded: the [Limit] is reached.
	ErrOverloaded = errors.New("too many model calls at once")

	// ErrOpen: the model was not asked because its circuit breaker is open.
	ErrOpen = errors.New("circuit breaker open")
	// ErrUnparsable: the answer is not of the form that was asked for.
	ErrUnparsable = errors.New("unusable answer")
)

var (
	// errLate: the model did not answer in time.
	errLate = errors.New("model deadline exceeded")
	// errUnwanted: the answer is no longer needed. The model is not at fault.
	errUnwanted = errors.New("answer no longer needed")
	// errOvertaken: a model that was asked later has answered first.
	errOvertaken = fmt.Errorf("overtaken by a later model: %w", context.DeadlineExceeded)
)

// lateMargin is how close to the deadline a time-out counts as the deadline's:
// timers of the network may fire a moment before the context's.
const lateMargin = 5 * time.Millisecond

// failure turns the errors of all attempts into what a caller with the context
// ctx is told.
func failure(ctx context.Context, err error) error {
	deadline, ok := ctx.Deadline()
	atDeadline := ok && isTimeout(err) && time.Until(deadline) <= lateMargin
	if ctx.Err() != nil || errors.Is(err, errLate) || atDeadline {
		return fmt.Errorf("%w: %w", ErrDeadline, err)
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
