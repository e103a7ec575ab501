package httpserver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestChecksReportEachState(t *testing.T) {
	var checks Checks
	require.Equal(t, Report{Status: "ok", Checks: map[string]Result{}}, checks.Run(t.Context()))

	checks.Add("bus", func(context.Context) error { return nil })
	checks.Add("streams", func(context.Context) error { return errors.New("no durable") })
	checks.Add("wild", func(context.Context) error { panic("boo") })
	require.Equal(t, Report{Status: "failed", Checks: map[string]Result{
		"bus":     {OK: true},
		"streams": {Reason: "no durable"},
		"wild":    {Reason: "panic: boo"},
	}}, checks.Run(t.Context()))

	checks.Add("streams", func(context.Context) error { return nil })
	checks.Add("wild", func(context.Context) error { return nil })
	require.Equal(t, "ok", checks.Run(t.Context()).Status)
}

func TestChecksAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			checks Checks
			runs   atomic.Int32
			broken atomic.Bool
		)
		checks.Add("bus", func(context.Context) error {
			runs.Add(1)
			if broken.Load() {
				return errors.New("broken")
			}
			return nil
		})
		status := func() string { return checks.Run(t.Context()).Status }
		require.Equal(t, "ok", status())
		broken.Store(true)
		time.Sleep(goodFor - time.Millisecond)
		require.Equal(t, "ok", status())
		require.EqualValues(t, 1, runs.Load())
		time.Sleep(time.Millisecond)
		require.Equal(t, "failed", status())
		broken.Store(false)
		require.Equal(t, "failed", status())
		require.EqualValues(t, 2, runs.Load())
		time.Sleep(badFor)
		require.Equal(t, "ok", status(), "recovery shows sooner")
	})
}

func TestAHangingCheckIsBoundedAndRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			checks  Checks
			runs    atomic.Int32
			release = make(chan struct{})
		)
		checks.Add("deaf", func(context.Context) error { // It does not listen to its context.
			runs.Add(1)
			<-release
			return nil
		})
		for range 3 {
			began := time.Now()
			report := checks.Run(t.Context())
			require.Equal(t, "failed", report.Status)
			require.Contains(t, report.Checks["deaf"].Reason, "still running after")
			require.LessOrEqual(t, time.Since(began), CheckTimeout+badFor)
		}
		require.EqualValues(t, 1, runs.Load())
		close(release)
		synctest.Wait()
		require.Equal(t, "ok", checks.Run(t.Context()).Status)
	})
}

func TestACheckHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks Checks
		checks.Add("slow", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		began := time.Now()
		require.Equal(t, context.DeadlineExceeded.Error(), checks.Run(t.Context()).Checks["slow"].Reason)
		require.Equal(t, CheckTimeout, time.Since(began))
	})
}

func TestACanceledCallerDoesNotCancelTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks Checks
		checks.Add("slow", func(ctx context.Context) error {
			select {
			case <-time.After(CheckTimeout / 2):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Contains(t, checks.Run(ctx).Checks["slow"].Reason, "not finished")
		require.Equal(t, "ok", checks.Run(t.Context()).Status)
	})
}
