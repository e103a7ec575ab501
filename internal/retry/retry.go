package retry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff is the pauses after failures in a row. They double from First up to Max.
type Backoff struct {
	First, Max time.Duration
}

// Pause returns the pause after the given number of failures in a row: 1 for the
// first, and no pause below that. Up to half of it is jitter.
func (b Backoff) Pause(failures int) time.Duration {
	if failures < 1 {
		return 0
	}
	d := min(b.First, b.Max)
	for ; failures > 1 && d < b.Max; failures-- {
		d = min(2*d, b.Max)
	}
	return d - rand.N(d/2+1) //nolint:gosec // jitter
}

// Wait pauses after the given number of failures in a row. It returns the error of
// ctx if that ends first.
func (b Backoff) Wait(ctx context.Context, failures int) error {
	return Sleep(ctx, b.Pause(failures))
}

// Sleep pauses for d. It returns the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Policy is how to retry.
type Policy struct {
	Backoff
	// Attempts bounds the calls; 0 means no bound.
	Attempts int
	// Temporary reports whether a later attempt may succeed; nil means always.
	Temporary func(error) bool
	// Failed, if not nil, is called before each pause with the number of attempts
	// so far.
	Failed func(attempt int, pause time.Duration, err error)
}

// Do calls do until it succeeds, and returns the last error if it fails for good
// or the attempts are used up. If ctx ends during a pause, the error is that of
// ctx and the last one.
func (p Policy) Do(ctx context.Context, do func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := do(ctx)
		if err == nil || attempt == p.Attempts || p.Temporary != nil && !p.Temporary(err) {
			return err
		}
		pause := p.Pause(attempt)
		if p.Failed != nil {
			p.Failed(attempt, pause, err)
		}
		if ended := Sleep(ctx, pause); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}
