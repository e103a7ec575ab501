package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/httpserver"
	"intenthint/internal/natstest"
)

func TestTheStreamMayBeWithoutAnAnswerForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var answer error
		c := streamCheck{grace: streamGrace, find: func(context.Context) error { return answer }}
		require.NoError(t, c.check(t.Context()))
		answer = context.DeadlineExceeded
		require.NoError(t, c.check(t.Context()))
		time.Sleep(streamGrace - time.Second)
		require.NoError(t, c.check(t.Context()))
		time.Sleep(time.Second)
		require.ErrorIs(t, c.check(t.Context()), answer)
		answer = nil
		require.NoError(t, c.check(t.Context()))
		answer = errors.New("another")
		require.NoError(t, c.check(t.Context()), "the minute begins again")
		answer = bus.ErrDenied
		require.NoError(t, c.check(t.Context()))
		answer = context.DeadlineExceeded
		time.Sleep(2 * streamGrace)
		require.NoError(t, c.check(t.Context()), "who may not look does not try again")
	})
}

func TestALostQuorumIsNoticed(t *testing.T) {
	t.Parallel()
	nodes := natstest.Cluster(t, nil)
	b, err := bus.Open(t.Context(), bus.Options{URL: nodes[0].ClientURL(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	layout := bus.Layout{Prefix: "openclaw", Stream: "EVENTS", QueueGroup: "q", Replicas: 3}
	require.Eventually(t, func() bool {
		_, err := bus.Provision(t.Context(), b.JS, layout)
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	c := streamCheck{find: func(ctx context.Context) error { return bus.CheckStream(ctx, b.JS, layout.Stream) }}
	var checks httpserver.Checks
	checks.Add(checkStream, c.check)
	m := NewMetrics("0.0.0", "")
	run := func() httpserver.Report { return checks.Run(t.Context()) }
	m.healthy.run.Store(&run)
	require.InDelta(t, float64(len(healthChecks)), sumOf(t, m), 0)
	nodes[1].Shutdown()
	nodes[2].Shutdown()
	// First it does not answer, then it answers without a leader.
	require.Eventually(t, func() bool {
		return sumOf(t, m) == float64(len(healthChecks)-1) && strings.Contains(run().Checks[checkStream].Reason, "no leader at present: 1 of 3 servers of the stream are online")
	}, 2*time.Minute, 100*time.Millisecond)
	require.True(t, b.NC.IsConnected())
}

// sumOf returns the sum of the gauges of the checks.
func sumOf(t *testing.T, m *Metrics) (sum float64) {
	t.Helper()
	require.Equal(t, len(healthChecks), testutil.CollectAndCount(&m.healthy))
	families, err := m.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "intenthint_healthy" {
			for _, g := range f.GetMetric() {
				sum += g.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// A durable that lets all processes together hold one event is named at the start.
func TestABoundOfOneUnacknowledgedEventIsNamed(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	b, err := bus.Open(t.Context(), bus.Options{URL: ns.ClientURL(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	layout := bus.Layout{Prefix: "openclaw", Stream: "EVENTS", QueueGroup: "q"}
	_, err = bus.Provision(t.Context(), b.JS, layout)
	require.NoError(t, err)
	durable, err := b.JS.Consumer(t.Context(), layout.Stream, layout.QueueGroup)
	require.NoError(t, err)
	config := durable.CachedInfo().Config
	config.MaxAckPending = 1
	_, err = b.JS.UpdateConsumer(t.Context(), layout.Stream, config)
	require.NoError(t, err)

	var log bytes.Buffer
	require.NoError(t, provision(t.Context(), b, layout, slog.New(slog.NewTextHandler(&log, nil))))
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "max_ack_pending")
	require.Contains(t, log.String(), "all processes together hold at most 1 events at a time, which is slow")
}
