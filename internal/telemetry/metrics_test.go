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
	"intenthint/model/provider"
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
	m.ConfigReload(nil)
	m.ConfigReload(errors.New("bad"))
	m.IntentsReload(nil)
	requireMetrics(t, m, `
# HELP intenthint_build_info The version of the program; always 1.
# TYPE intenthint_build_info gauge
intenthint_build_info{version="v1.2.3"} 1
# HELP intenthint_reloads_total Reloads of configuration and intent files, by result (ok, error).
# TYPE intenthint_reloads_total counter
intenthint_reloads_total{result="error",what="config"} 1
intenthint_reloads_total{result="error",what="intents"} 0
intenthint_reloads_total{result="ok",what="config"} 1
intenthint_reloads_total{result="ok",what="intents"} 1
`, "build_info", "reloads_total")
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
	label := NewLabel(2)
	require.Equal(t, []string{"a", "b", "other", "a"}, []string{label.Bound("a"), label.Bound("b"), label.Bound("c"), label.Bound("a")})
}

func TestMetricsHoldToTheRulesOfNaming(t *testing.T) {
	m := NewMetrics("test")
	m.ModelCall(classify.Call{Ref: "p/m", Outcome: classify.OutcomeOK, Duration: time.Second})
	problems, err := testutil.GatherAndLint(m.Registry())
	require.NoError(t, err)
	for _, p := range problems {
		require.False(t, strings.HasPrefix(p.Metric, namespace), "%s: %s", p.Metric, p.Text)
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds"} {
		n, err := testutil.GatherAndCount(m.Registry(), name)
		require.NoError(t, err)
		require.Positive(t, n, name)
	}
}
