package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natstest"
	"intenthint/subjects"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	for range 3 {
		count(m.applied, "sessions", "agent_end")
	}
	count(m.ignored, "sessions", "llm_output")
	for i := range 100 {
		count(m.ignored, "sessions", fmt.Sprintf("hook%d", i))
	}
	count(m.deadLetters, "sessions", "_")
	count(m.deadLetters, "sessions", "")
	count(m.deadLetters, "sessions", "after_tool_call")
	count(m.redeliveries, "sessions", "after_tool_call")
	m.pending.WithLabelValues("sessions").Set(12)
	m.publishRetries.Inc()
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP intenthint_consumer_pending Events in the stream that no process has received yet, by sink. Every process reports the same number.
# TYPE intenthint_consumer_pending gauge
intenthint_consumer_pending{sink="sessions"} 12
# HELP intenthint_dead_letters_total Events that this process moved to the dead-letter stream, by sink and hook.
# TYPE intenthint_dead_letters_total counter
intenthint_dead_letters_total{hook="after_tool_call",sink="sessions"} 1
intenthint_dead_letters_total{hook="other",sink="sessions"} 2
# HELP intenthint_events_applied_total Events applied by this process, by sink and hook.
# TYPE intenthint_events_applied_total counter
intenthint_events_applied_total{hook="agent_end",sink="sessions"} 3
# HELP intenthint_events_ignored_total Events that belong to no session and were acknowledged without effect, by sink and hook.
# TYPE intenthint_events_ignored_total counter
intenthint_events_ignored_total{hook="llm_output",sink="sessions"} 1
intenthint_events_ignored_total{hook="other",sink="sessions"} 100
# HELP intenthint_publish_retries_total Repeated attempts to publish an event.
# TYPE intenthint_publish_retries_total counter
intenthint_publish_retries_total 1
# HELP intenthint_redeliveries_total Deliveries of an event after the first, by sink and hook.
# TYPE intenthint_redeliveries_total counter
intenthint_redeliveries_total{hook="after_tool_call",sink="sessions"} 1
`), "intenthint_consumer_pending", "intenthint_dead_letters_total", "intenthint_events_applied_total", "intenthint_events_ignored_total",
		"intenthint_publish_retries_total", "intenthint_redeliveries_total"))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// An alert must see the first dead letter as an increase.
func TestSinksHaveSeriesFromTheStart(t *testing.T) {
	t.Parallel()
	known := len(subjects.Observations()) + 1 // and "other"
	m := newMetrics()
	m.Expect("sessions", nil)
	m.Expect("groups", []string{"agent_end"})
	for _, c := range []*prometheus.CounterVec{m.applied, m.ignored, m.redeliveries, m.deadLetters} {
		require.Equal(t, known+2, testutil.CollectAndCount(c))
	}
	for _, g := range []*prometheus.GaugeVec{m.pending, m.ackPending, m.lastApply, m.blocked} {
		require.Equal(t, 2, testutil.CollectAndCount(g))
	}

	b := openTest(t)
	provisionTest(t, b)
	m = newMetrics()
	s := startTest(t, b.JS, m, new(sinkTest).handler())
	require.Equal(t, known, testutil.CollectAndCount(m.deadLetters), "of a sink that has only been started")
	require.NoError(t, s.Stop(t.Context()))
}

func TestMetricsShowWhetherEventsAreApplied(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	m, store := newMetrics(), &sinkTest{}
	s := startTest(t, b.JS, m, store.handler())
	defer func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) }()
	publish := func(id string) {
		t.Helper()
		_, err := b.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte("s/agent_end "+id))
		require.NoError(t, err)
	}
	lastApply := func() float64 { return testutil.ToFloat64(m.lastApply.WithLabelValues("sessions")) }
	blocked := func(want float64) func() bool {
		return func() bool {
			s.reportLag(t.Context())
			return testutil.ToFloat64(m.blocked.WithLabelValues("sessions")) == want
		}
	}
	store.fail(errors.New("disk full"))
	publish("1")
	require.Eventually(t, blocked(1), time.Minute, 10*time.Millisecond)
	require.Zero(t, lastApply())
	store.fail(nil)
	require.Eventually(t, blocked(0), time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { return total(m.applied) == 1 }, time.Minute, 10*time.Millisecond)
	require.InDelta(t, float64(time.Now().Unix()), lastApply(), 60)
}

func TestMetricsOfTheStreams(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	m, l := newMetrics(), testLayout()
	measured := func() [3]float64 {
		m.measure(t.Context(), b.JS, l)
		return [3]float64{testutil.ToFloat64(m.letters), testutil.ToFloat64(m.streamBytes), testutil.ToFloat64(m.streamLimit)}
	}
	require.Equal(t, [3]float64{}, measured(), "no streams")
	stream := provisionTest(t, b)
	require.Equal(t, [3]float64{0, 0, float64(l.MaxBytes)}, measured())
	for _, subject := range []string{"openclaw.event.agent_end.main.s", l.Prefix.DeadLetter("agent_end"), l.Prefix.DeadLetter("")} {
		_, err := b.JS.Publish(t.Context(), subject, []byte("{}"))
		require.NoError(t, err)
	}
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.NotZero(t, info.State.Bytes)
	require.Equal(t, [3]float64{2, float64(info.State.Bytes), float64(l.MaxBytes)}, measured())
	require.NoError(t, lettersStream(t, b).Purge(t.Context()))
	require.Zero(t, measured()[0])

	config := info.Config
	config.MaxBytes = -1
	_, err = b.JS.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	require.Zero(t, measured()[2], "no limit")
}

// A server that does not answer leaves no value of before, and the values are back with
// it.
func TestGaugesOfAServerThatIsAwayAreAbsent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ns := natstest.Start(t, &server.Options{JetStream: true, StoreDir: dir})
	port := ns.Addr().(*net.TCPAddr).Port
	js := natstest.JetStream(t, ns)
	l := testLayout()
	_, err := bus.Provision(t.Context(), js, l)
	require.NoError(t, err)
	m, store := newMetrics(), &sinkTest{}
	s := startTest(t, js, m, store.handler())
	gauges := []prometheus.Collector{m.pending, m.ackPending, m.letters, m.streamBytes, m.streamLimit}
	shown := func(n int) func() bool {
		return func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			s.reportLag(ctx)
			m.measure(ctx, js, l)
			for _, g := range gauges {
				if testutil.CollectAndCount(g) != n {
					return false
				}
			}
			return true
		}
	}
	require.Eventually(t, shown(1), time.Minute, 10*time.Millisecond)
	ns.Shutdown()
	ns.WaitForShutdown()
	require.Eventually(t, shown(0), time.Minute, 10*time.Millisecond)
	natstest.Start(t, &server.Options{JetStream: true, StoreDir: dir, Port: port})
	require.Eventually(t, shown(1), time.Minute, 10*time.Millisecond)
	require.NoError(t, s.Stop(context.WithoutCancel(t.Context())))
}

func BenchmarkCount(b *testing.B) {
	m := NewMetrics(prometheus.NewRegistry())
	b.ReportAllocs()
	for b.Loop() {
		count(m.applied, "sessions", "after_tool_call")
	}
}
