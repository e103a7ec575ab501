package model

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// work is what a call does: it takes its time, and may be deaf to its context.
func work(took time.Duration, deaf bool, err error) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		done := ctx.Done()
		if deaf {
			done = nil
		}
		select {
		case <-time.After(took):
			return "done", err
		case <-done:
			return "", ctx.Err()
		}
	}
}

func TestStart(t *testing.T) {
	const budget = 10 * time.Second
	for _, tt := range []struct {
		name  string
		share float64
		f     func(context.Context) (string, error)
		err   error
		took  time.Duration
	}{
		{"in time", 1, work(time.Second, false, nil), nil, time.Second},
		{"at the last moment", 1, work(budget-1, false, nil), nil, budget - 1},
		{"late", 1, work(time.Hour, false, nil), ErrDeadline, budget},
		{"late, and deaf to its context", 1, work(time.Hour, true, nil), ErrDeadline, budget},
		{"later than its share", 0.5, work(6*time.Second, false, nil), ErrDeadline, 5 * time.Second},
		{"within its share", 0.5, work(4*time.Second, false, nil), nil, 4 * time.Second},
		{"a deadline of its own", 1, work(0, false, fmt.Errorf("%w: known", ErrDeadline)), ErrDeadline, 0},
		{"failing", 1, work(time.Second, false, errors.New("broken")), ErrFailed, time.Second},
		{"panicking", 1, func(context.Context) (string, error) { panic("a library gave up") }, ErrFailed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				start := time.Now()
				got, err := Start(ctx, NewLimit(1), tt.share, tt.f)()
				require.Equal(t, tt.took, time.Since(start))
				require.ErrorIs(t, err, tt.err)
				if tt.err == nil {
					require.Equal(t, "done", got)
				}
				time.Sleep(time.Hour) // for the deaf one
			})
		})
	}
}

func TestStartWithoutTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, NewLimit(1), 1, func(context.Context) (string, error) {
		t.Error("it was called")
		return "", nil
	})()
	require.ErrorIs(t, err, ErrDeadline)
}

func TestStartKeepsThePlaceOfACallThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimit(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Start(ctx, limit, 1, work(time.Minute, true, nil))()
		require.ErrorIs(t, err, ErrDeadline)
		start := time.Now()
		_, err = Start(t.Context(), limit, 1, work(0, false, nil))()
		require.ErrorIs(t, err, ErrOverloaded, "the first is still at work")
		require.Zero(t, time.Since(start), "never a queue")
		time.Sleep(time.Minute)
		for range 100 { // each place is free again with the answer
			_, err = Start(t.Context(), limit, 1, work(0, false, nil))()
			require.NoError(t, err)
		}
	})
}
