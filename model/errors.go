package model

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Errors of asking. Each error of [Ask], [Embedder.Vectors] and [Start] is one of
// the first three, and wraps what each model did. None holds a key.
var (
	ErrFailed     = errors.New("no model gave a usable answer")
	ErrDeadline   = errors.New("the model did not answer in time") // or was not asked, because the only model left is known to be late
	ErrOverloaded = errors.New("too many model calls at once")     // the [Limit] is reached

	ErrOpen       = errors.New("circuit breaker open") // the model was not asked
	ErrUnparsable = errors.New("unusable answer")      // not of the requested form
)

var (
	errLate     = errors.New("model deadline exceeded")
	errUnwanted = errors.New("answer no longer needed") // the model is not at fault
)

// errOvertaken reports that a model asked later answered first. It counts as late.
var errOvertaken error = overtaken{}

type overtaken struct{}

func (overtaken) Error() string { return "a model that was asked later answered first" }

func (overtaken) Unwrap() error { return context.DeadlineExceeded }

// lateMargin is how close to the deadline a time-out counts as caused by it:
// network timers may fire a moment before the context's.
const lateMargin = 5 * time.Millisecond

// failure turns the errors of all attempts into the error for a caller with the
// context ctx.
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
