package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestMetricsOfTheEventSide(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	s := m.of("sessions")
	for range 3 {
		count(s.applied, "agent_end")
	}
	count(s.ignored, "llm_output")
	for i := range 100 {
		count(s.ignored, fmt.Sprintf("hook%d", i))
	}
	count(s.deadLetters, "_")
	count(s.deadLetters, "")
	count(s.deadLetters, "after_tool_call")
	count(s.redeliveries, "after_tool_call")
	s.pending.Set(12)
	s.ackPending.Set(3)
	m.publishRetries.Inc()
	m.of("groups").pending.Set(1)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP intenthint_consumer_ack_pending Events given to consumer processes and not acknowledged yet, by sink.
# TYPE intenthint_consumer_ack_pending gauge
intenthint_consumer_ack_pending{sink="groups"} 0
intenthint_consumer_ack_pending{sink="sessions"} 3
# HELP intenthint_consumer_pending Events in the stream that the durable of a sink has not been given yet.
# TYPE intenthint_consumer_pending gauge
intenthint_consumer_pending{sink="groups"} 1
intenthint_consumer_pending{sink="sessions"} 12
# HELP intenthint_dead_letters_total Events that became dead letters, by sink and hook.
# TYPE intenthint_dead_letters_total counter
intenthint_dead_letters_total{hook="after_tool_call",sink="sessions"} 1
intenthint_dead_letters_total{hook="other",sink="sessions"} 2
# HELP intenthint_events_applied_total Events that were applied, by sink and hook.
# TYPE intenthint_events_applied_total counter
intenthint_events_applied_total{hook="agent_end",sink="sessions"} 3
# HELP intenthint_events_ignored_total Events that a sink ignored, by sink and hook.
# TYPE intenthint_events_ignored_total counter
intenthint_events_ignored_total{hook="llm_output",sink="sessions"} 1
intenthint_events_ignored_total{hook="other",sink="sessions"} 100
# HELP intenthint_publish_retries_total Repeated attempts to publish an event.
# TYPE intenthint_publish_retries_total counter
intenthint_publish_retries_total 1
# HELP intenthint_redeliveries_total Deliveries of an event after the first, by sink and hook.
# TYPE intenthint_redeliveries_total counter
intenthint_redeliveries_total{hook="after_tool_call",sink="sessions"} 1
`)))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func BenchmarkCount(b *testing.B) {
	s := NewMetrics(prometheus.NewRegistry()).of("sessions")
	b.ReportAllocs()
	for b.Loop() {
		count(s.applied, "after_tool_call")
	}
}
