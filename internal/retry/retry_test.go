package retry

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	errBusy = errors.New("busy")
	errGone = errors.New("gone")
)

func TestPause(t *testing.T) {
	tests := []struct {
		name     string
		backoff  Backoff
		failures int
		want     time.Duration // at most; at least half of it
	}{
		{"no failure", Backoff{time.Second, time.Minute}, 0, 0},
		{"less than none", Backoff{time.Second, time.Minute}, -3, 0},
		{"first", Backoff{time.Second, time.Minute}, 1, time.Second},
		{"second", Backoff{time.Second, time.Minute}, 2, 2 * time.Second},
		{"sixth", Backoff{time.Second, time.Minute}, 6, 32 * time.Second},
		{"bounded", Backoff{time.Second, time.Minute}, 7, time.Minute},
		{"many", Backoff{time.Second, time.Minute}, math.MaxInt, time.Minute},
		{"first is more than the bound", Backoff{time.Minute, time.Second}, 1, time.Second},
		{"constant", Backoff{time.Second, time.Second}, 9, time.Second},
		{"none at all", Backoff{}, 9, 0},
		{"one nanosecond", Backoff{1, 1}, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			least, most := time.Duration(math.MaxInt64), time.Duration(0)
			for range 2000 {
				d := tt.backoff.Pause(tt.failures)
				least, most = min(least, d), max(most, d)
			}
			require.GreaterOrEqual(t, least, tt.want/2)
			require.LessOrEqual(t, most, tt.want)
			if tt.want > time.Microsecond {
				require.Less(t, least, tt.want*6/10, "jitter")
				require.Greater(t, most, tt.want*9/10)
			}
		})
	}
}

func TestWaitAndSleepEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		require.NoError(t, Sleep(ctx, time.Second))
		require.Equal(t, time.Second, time.Since(began))
		require.NoError(t, Sleep(ctx, 0))
		require.NoError(t, Backoff{time.Hour, time.Hour}.Wait(ctx, 0))
		require.ErrorIs(t, Backoff{time.Hour, time.Hour}.Wait(ctx, 1), context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.ErrorIs(t, Sleep(ctx, 0), context.DeadlineExceeded, "ended already")
	})
}

func TestDo(t *testing.T) {
	policy := Policy{Backoff: Backoff{time.Second, 4 * time.Second}, Temporary: func(err error) bool { return errors.Is(err, errBusy) }}
	bounded := policy
	bounded.Attempts = 3
	everything := Policy{Backoff: policy.Backoff, Attempts: 2}
	tests := []struct {
		name   string
		policy Policy
		errs   []error // of each call; the last one is repeated
		calls  int
		pauses []time.Duration // at most
		want   error
	}{
		{"at once", policy, []error{nil}, 1, nil, nil},
		{"after failures", policy, []error{errBusy, errBusy, errBusy, errBusy, nil}, 5, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second}, nil},
		{"for good", policy, []error{errGone}, 1, nil, errGone},
		{"for good after a temporary failure", policy, []error{errBusy, errGone}, 2, []time.Duration{time.Second}, errGone},
		{"attempts used up", bounded, []error{errBusy}, 3, []time.Duration{time.Second, 2 * time.Second}, errBusy},
		{"every error is temporary", everything, []error{errGone}, 2, []time.Duration{time.Second}, errGone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				var pauses []time.Duration
				tt.policy.Failed = func(attempt int, pause time.Duration, err error) {
					require.Equal(t, calls, attempt)
					require.Equal(t, tt.errs[min(calls, len(tt.errs))-1], err)
					pauses = append(pauses, pause)
				}
				began := time.Now()
				err := tt.policy.Do(t.Context(), func(context.Context) error {
					calls++
					return tt.errs[min(calls, len(tt.errs))-1]
				})
				require.Equal(t, tt.want, err)
				require.Equal(t, tt.calls, calls)
				require.Len(t, pauses, len(tt.pauses))
				all := time.Duration(0)
				for i, d := range pauses {
					require.LessOrEqual(t, d, tt.pauses[i])
					require.GreaterOrEqual(t, d, tt.pauses[i]/2)
					all += d
				}
				require.Equal(t, all, time.Since(began))
			})
		})
	}
}

func TestDoEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began, calls := time.Now(), 0
		err := Policy{Backoff: Backoff{time.Second, time.Hour}}.Do(ctx, func(context.Context) error { calls++; return errBusy })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errBusy, "why it did not succeed until then")
		require.Equal(t, 10*time.Second, time.Since(began))
		require.GreaterOrEqual(t, calls, 4)

		calls = 0
		err = Policy{}.Do(ctx, func(context.Context) error { calls++; return nil })
		require.NoError(t, err, "what succeeds succeeds")
		require.Equal(t, 1, calls)
	})
}
