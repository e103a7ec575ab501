package model

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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

// holder begins calls that last until release is called.
type holder struct {
	limit   *Limit
	release chan struct{}
}

func hold(limit *Limit) holder { return holder{limit, make(chan struct{})} }

// calls tries n calls of a caller and returns how many began.
func (h holder) calls(t *testing.T, caller string, n int) (begun int) {
	t.Helper()
	for range n {
		wait := Start(WithCaller(t.Context(), caller), h.limit, 1, func(context.Context) (string, error) {
			<-h.release
			return "", nil
		})
		refused := make(chan error, 1)
		go func() {
			_, err := wait()
			refused <- err
		}()
		synctest.Wait()
		select {
		case err := <-refused:
			require.ErrorIs(t, err, ErrOverloaded)
		default:
			begun++
		}
	}
	return begun
}

func TestOneCallerMayHaveAllPlaces(t *testing.T) {
	for _, n := range []int{0, 1, 2, 8} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := hold(NewLimit(n))
				defer close(h.release)
				require.Equal(t, n, h.calls(t, "a", n+3))
			})
		})
	}
}

func TestCallersShareThePlaces(t *testing.T) {
	for _, row := range []struct {
		places, callers int
		want            []int
	}{
		{8, 2, []int{4, 4}},
		{8, 3, []int{3, 3, 2}},
		{2, 2, []int{1, 1}},
		{1, 2, []int{1, 0}},
		{2, 3, []int{1, 1, 0}},
	} {
		t.Run(fmt.Sprintf("%d for %d", row.places, row.callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := NewLimit(row.places)
				for c := range row.callers { // all have asked lately
					_, err := Start(WithCaller(t.Context(), strconv.Itoa(c)), limit, 1, work(0, false, nil))()
					require.NoError(t, err)
				}
				h := hold(limit)
				defer close(h.release)
				var got []int
				for c := range row.callers {
					got = append(got, h.calls(t, strconv.Itoa(c), row.places))
				}
				require.Equal(t, row.want, got)
			})
		})
	}
}

func TestAFloodLeavesOthersTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimit(8)
		first := hold(limit)
		require.Equal(t, 8, first.calls(t, "flood", 20))
		require.Zero(t, first.calls(t, "calm", 1))
		close(first.release)
		synctest.Wait()

		second := hold(limit)
		require.Equal(t, 4, second.calls(t, "flood", 20))
		time.Sleep(lately)
		require.Equal(t, 1, second.calls(t, "calm", 1), "it keeps its share for a while")
		require.Zero(t, second.calls(t, "flood", 20))
		close(second.release)
		synctest.Wait()

		time.Sleep(lately + 1)
		last := hold(limit)
		defer close(last.release)
		require.Equal(t, 8, last.calls(t, "flood", 20), "alone again")
	})
}

func TestCallersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimit(2)
		for i := range 10 * maxCallers {
			_, err := Start(WithCaller(t.Context(), strconv.Itoa(i)), limit, 1, work(0, false, nil))()
			require.NoError(t, err)
		}
		require.LessOrEqual(t, len(limit.callers), maxCallers+1)
		time.Sleep(lately + 1)
		_, err := Start(t.Context(), limit, 1, work(0, false, nil))()
		require.NoError(t, err)
		require.Len(t, limit.callers, 1)
	})
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
