package telemetry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/hint/eligibility"
	"intenthint/model/provider"
	"intenthint/payload"
)

func requireMetrics(t *testing.T, m *Metrics, expected string, names ...string) {
	t.Helper()
	for i, name := range names {
		names[i] = "intenthint_" + name
	}
	require.NoError(t, testutil.GatherAndCompare(m.Registry(), strings.NewReader(expected), names...))
}

func TestMetricsCountWhatTheyAreToldOf(t *testing.T) {
	m := NewMetrics("v1.2.3")
	m.Hint("local", "MEMORY_LOOKUP", time.Millisecond)
	m.Hint("local", "MEMORY_LOOKUP", time.Millisecond)
	m.Hint("cache", "OTHER", time.Millisecond)
	for range 3 {
		m.EventApplied("agent_end")
	}
	m.EventIgnored("llm_output")
	m.EventIgnored("invented.by.somebody")
	m.DeadLetter("_")
	m.DeadLetter("")
	m.DeadLetter("after_tool_call")
	m.Redelivery("after_tool_call")
	m.Lag(12, 3)
	m.PublishRetry()
	m.BadRequest()
	m.InFlight(1)
	m.InFlight(1)
	m.InFlight(-1)
	m.ConfigReload(nil)
	m.ConfigReload(errors.New("bad"))
	m.IntentsReload(nil)
	requireMetrics(t, m, `
# HELP intenthint_bad_requests_total Requests that were refused with an error of code 400.
# TYPE intenthint_bad_requests_total counter
intenthint_bad_requests_total 1
# HELP intenthint_build_info The version of the program; always 1.
# TYPE intenthint_build_info gauge
intenthint_build_info{version="v1.2.3"} 1
# HELP intenthint_consumer_ack_pending Events given to consumer processes and not acknowledged yet.
# TYPE intenthint_consumer_ack_pending gauge
intenthint_consumer_ack_pending 3
# HELP intenthint_consumer_pending Events in the stream that the durable consumer has not been given yet.
# TYPE intenthint_consumer_pending gauge
intenthint_consumer_pending 12
# HELP intenthint_dead_letters_total Events that became dead letters, by hook.
# TYPE intenthint_dead_letters_total counter
intenthint_dead_letters_total{hook="after_tool_call"} 1
intenthint_dead_letters_total{hook="other"} 2
# HELP intenthint_events_applied_total Events that became part of a session, by hook.
# TYPE intenthint_events_applied_total counter
intenthint_events_applied_total{hook="agent_end"} 3
# HELP intenthint_events_ignored_total Events that belong to no turn or to a hook that is not handled, by hook.
# TYPE intenthint_events_ignored_total counter
intenthint_events_ignored_total{hook="llm_output"} 1
intenthint_events_ignored_total{hook="other"} 1
# HELP intenthint_hints_total Hints given, by source and intent.
# TYPE intenthint_hints_total counter
intenthint_hints_total{intent="MEMORY_LOOKUP",source="local"} 2
intenthint_hints_total{intent="OTHER",source="cache"} 1
# HELP intenthint_publish_retries_total Repeated attempts to publish an event.
# TYPE intenthint_publish_retries_total counter
intenthint_publish_retries_total 1
# HELP intenthint_redeliveries_total Deliveries of an event after the first, by hook.
# TYPE intenthint_redeliveries_total counter
intenthint_redeliveries_total{hook="after_tool_call"} 1
# HELP intenthint_reloads_total Reloads of configuration and intent files, by result (ok, error).
# TYPE intenthint_reloads_total counter
intenthint_reloads_total{result="error",what="config"} 1
intenthint_reloads_total{result="error",what="intents"} 0
intenthint_reloads_total{result="ok",what="config"} 1
intenthint_reloads_total{result="ok",what="intents"} 1
# HELP intenthint_requests_in_flight Requests that were taken and are not answered yet.
# TYPE intenthint_requests_in_flight gauge
intenthint_requests_in_flight 1
`, "bad_requests_total", "build_info", "requests_in_flight", "consumer_ack_pending", "consumer_pending", "dead_letters_total",
		"events_applied_total", "events_ignored_total", "hints_total", "publish_retries_total", "redeliveries_total", "reloads_total")
}

func TestPolicyAndFailureAreApart(t *testing.T) {
	m := NewMetrics("test")
	for _, reason := range []eligibility.Skip{"not_user_trigger", "chat_type", "no_intents", "deadline", "low_confidence", "overloaded", "what?"} {
		m.Skip(reason, 2*time.Millisecond)
	}
	m.Hint("llm", "A", time.Second)
	value := func(kind, reason string) float64 {
		got, err := m.Registry().Gather()
		require.NoError(t, err)
		for _, family := range got {
			if family.GetName() != "intenthint_skips_total" {
				continue
			}
			for _, metric := range family.GetMetric() {
				if metric.GetLabel()[0].GetValue() == kind && metric.GetLabel()[1].GetValue() == reason {
					return metric.GetCounter().GetValue()
				}
			}
		}
		return -1
	}
	for _, tc := range []struct {
		kind, reason string
		want         float64
	}{
		{"policy", "not_user_trigger", 1},
		{"policy", "chat_type", 1},
		{"policy", "no_intents", 1},
		{"policy", "chat_id", 0}, // There before it happens, for alerts on a rate.
		{"failure", "deadline", 1},
		{"failure", "low_confidence", 1},
		{"failure", "overloaded", 1},
		{"failure", "other", 1},
		{"policy", "deadline", -1},
	} {
		require.InDelta(t, tc.want, value(tc.kind, tc.reason), 0, "%s %s", tc.kind, tc.reason)
	}

	families, err := m.Registry().Gather()
	require.NoError(t, err)
	observed := map[string]uint64{}
	for _, family := range families {
		if family.GetName() == "intenthint_request_duration_seconds" {
			for _, metric := range family.GetMetric() {
				observed[metric.GetLabel()[0].GetValue()] = metric.GetHistogram().GetSampleCount()
				buckets := metric.GetHistogram().GetBucket()
				require.InDelta(t, 50e-6, buckets[0].GetUpperBound(), 0)
				require.InDelta(t, 60, buckets[len(buckets)-1].GetUpperBound(), 0)
			}
		}
	}
	require.Equal(t, map[string]uint64{"hint": 1, "policy": 3, "failure": 4}, observed)
}

func TestModelCalls(t *testing.T) {
	m := NewMetrics("test")
	m.ModelCall(classify.Call{Ref: "openai/small", Outcome: classify.OutcomeOK, Duration: time.Second, Usage: provider.Usage{InputTokens: 100, OutputTokens: 20, CachedTokens: 80}})
	m.ModelCall(classify.Call{Ref: "openai/small", Outcome: classify.OutcomeLate, Duration: time.Second})
	m.ModelCall(classify.Call{Ref: "openai/small", Outcome: "unheard of", Duration: time.Second, Usage: provider.Usage{InputTokens: -5}})
	m.ModelCall(classify.Call{Ref: "openai/small", Outcome: classify.OutcomeOpen})
	m.ModelCall(classify.Call{Ref: "openai/small", Outcome: classify.OutcomeShared})
	requireMetrics(t, m, `
# HELP intenthint_model_calls_total Calls of models, by model and outcome.
# TYPE intenthint_model_calls_total counter
intenthint_model_calls_total{model="openai/small",outcome="canceled"} 0
intenthint_model_calls_total{model="openai/small",outcome="failed"} 1
intenthint_model_calls_total{model="openai/small",outcome="late"} 1
intenthint_model_calls_total{model="openai/small",outcome="ok"} 1
intenthint_model_calls_total{model="openai/small",outcome="open"} 1
intenthint_model_calls_total{model="openai/small",outcome="shared"} 1
intenthint_model_calls_total{model="openai/small",outcome="unparsable"} 0
intenthint_model_calls_total{model="openai/small",outcome="unresolved"} 0
# HELP intenthint_model_tokens_total Tokens of model calls, by model and direction (in, out, cached); cached are part of in.
# TYPE intenthint_model_tokens_total counter
intenthint_model_tokens_total{direction="cached",model="openai/small"} 80
intenthint_model_tokens_total{direction="in",model="openai/small"} 100
intenthint_model_tokens_total{direction="out",model="openai/small"} 20
`, "model_calls_total", "model_tokens_total")
	require.Equal(t, 1, testutil.CollectAndCount(m.models.times))
	require.EqualValues(t, 3, samples(t, m, "intenthint_model_call_duration_seconds"), "what was not asked took no time")
}

// samples is how many observations the only histogram of a name holds.
func samples(t *testing.T, m *Metrics, name string) uint64 {
	t.Helper()
	families, err := m.Registry().Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	return 0
}

func TestModelBreaker(t *testing.T) {
	m := NewMetrics("test")
	value := func(ref string) float64 { return testutil.ToFloat64(m.models.of(ref).open) }
	require.Zero(t, value("p/m"))
	m.ModelBreaker("p/m", true)
	require.InDelta(t, 1, value("p/m"), 0)
	m.ModelBreaker("p/m", false)
	require.Zero(t, value("p/m"))
	for i := range 2 * maxModels {
		m.ModelBreaker(fmt.Sprintf("p/m%d", i), true)
	}
	require.Equal(t, maxModels+1, testutil.CollectAndCount(m.models.open), "their number is bounded")
}

func TestLabelsFromOutsideAreBounded(t *testing.T) {
	m := NewMetrics("test")
	for i := range 3 * maxModels {
		m.ModelCall(classify.Call{Ref: fmt.Sprintf("p/m%d", i), Outcome: classify.OutcomeOK, Duration: time.Second})
	}
	require.Equal(t, maxModels+1, testutil.CollectAndCount(m.models.times))
	for i := range 2 * maxIntents {
		m.Hint("local", fmt.Sprintf("I%d", i), time.Millisecond)
		m.EventIgnored(fmt.Sprintf("hook%d", i))
	}
	got, err := testutil.GatherAndCount(m.Registry(), "intenthint_hints_total")
	require.NoError(t, err)
	require.Equal(t, maxIntents+1, got)
	got, err = testutil.GatherAndCount(m.Registry(), "intenthint_events_ignored_total")
	require.NoError(t, err)
	require.Equal(t, 1, got)
}

func TestMetricsHoldToTheRulesOfNaming(t *testing.T) {
	m := NewMetrics("test")
	m.ModelCall(classify.Call{Ref: "p/m", Outcome: classify.OutcomeOK, Duration: time.Second})
	m.Classified(payload.SourceLocal, time.Millisecond)
	m.Classified(payload.SourceLLM, time.Millisecond)
	problems, err := testutil.GatherAndLint(m.Registry())
	require.NoError(t, err)
	for _, p := range problems {
		require.False(t, strings.HasPrefix(p.Metric, namespace), "%s: %s", p.Metric, p.Text)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "intenthint_classification_duration_seconds"} {
		n, err := testutil.GatherAndCount(m.Registry(), name)
		require.NoError(t, err)
		require.Positive(t, n, name)
	}
}

// What one hint costs in metrics.
func BenchmarkHint(b *testing.B) {
	m := NewMetrics("bench")
	b.ReportAllocs()
	for b.Loop() {
		m.InFlight(1)
		m.Classified(payload.SourceLocal, 80*time.Microsecond)
		m.InFlight(-1)
		m.Hint("local", "MEMORY_LOOKUP", 120*time.Microsecond)
	}
}

func BenchmarkEventApplied(b *testing.B) {
	m := NewMetrics("bench")
	b.ReportAllocs()
	for b.Loop() {
		m.EventApplied("after_tool_call")
	}
}
