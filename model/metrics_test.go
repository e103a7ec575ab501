package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
)

func TestMetricsOfCalls(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	m.ModelCalled(Call{Ref: "openai/small", Outcome: OutcomeOK, Duration: time.Second, Usage: provider.Usage{InputTokens: 100, OutputTokens: 20, CachedTokens: 80}})
	m.ModelCalled(Call{Ref: "openai/small", Outcome: OutcomeLate, Duration: time.Second})
	m.ModelCalled(Call{Ref: "openai/small", Outcome: "unheard of", Duration: time.Second, Usage: provider.Usage{InputTokens: -5}})
	m.ModelCalled(Call{Ref: "openai/small", Outcome: OutcomeOpen})
	m.ModelCalled(Call{Ref: "openai/small", Outcome: OutcomeShared})
	m.ModelCalled(Call{Ref: "openai/small", Outcome: OutcomeUnresolved})
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP intenthint_model_calls_total Calls of models, by model and outcome; open, shared and unresolved ones were not sent.
# TYPE intenthint_model_calls_total counter
intenthint_model_calls_total{model="openai/small",outcome="canceled"} 0
intenthint_model_calls_total{model="openai/small",outcome="failed"} 1
intenthint_model_calls_total{model="openai/small",outcome="late"} 1
intenthint_model_calls_total{model="openai/small",outcome="ok"} 1
intenthint_model_calls_total{model="openai/small",outcome="open"} 1
intenthint_model_calls_total{model="openai/small",outcome="shared"} 1
intenthint_model_calls_total{model="openai/small",outcome="unparsable"} 0
intenthint_model_calls_total{model="openai/small",outcome="unresolved"} 1
# HELP intenthint_model_tokens_total Tokens of model calls, by model and direction; cached tokens are part of in.
# TYPE intenthint_model_tokens_total counter
intenthint_model_tokens_total{direction="cached",model="openai/small"} 80
intenthint_model_tokens_total{direction="in",model="openai/small"} 100
intenthint_model_tokens_total{direction="out",model="openai/small"} 20
`), "intenthint_model_calls_total", "intenthint_model_tokens_total"))
	require.Equal(t, 1, testutil.CollectAndCount(m.times))
	require.EqualValues(t, 3, samples(t, registry, "intenthint_model_call_duration_seconds"), "what was not sent took no time")
}

func TestConfiguredModelsHaveSeriesFromTheStart(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	m.Expect("p/m", "", " p/n ", "p/m")
	require.Equal(t, 2*len(outcomes), testutil.CollectAndCount(m.calls))
	require.Equal(t, 2, testutil.CollectAndCount(m.times))
	require.Equal(t, 2, testutil.CollectAndCount(m.open))
	require.Equal(t, 2*3, testutil.CollectAndCount(m.tokens))
	require.Zero(t, testutil.ToFloat64(m.open.WithLabelValues("p/n")))
}

// samples is how many observations the only histogram of a name holds.
func samples(t *testing.T, registry *prometheus.Registry, name string) uint64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	return 0
}

func TestMetricsOfTheBreaker(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	value := func(ref string) float64 { return testutil.ToFloat64(m.open.WithLabelValues(ref)) }
	require.Zero(t, value("p/m"))
	m.BreakerOpened("p/m", time.Second, ErrFailed)
	require.InDelta(t, 1, value("p/m"), 0)
	m.BreakerClosed("p/m")
	require.Zero(t, value("p/m"))
	for i := range 2 * maxModels {
		m.BreakerOpened(fmt.Sprintf("p/m%d", i), time.Second, ErrFailed)
	}
	require.Equal(t, maxModels+1, testutil.CollectAndCount(m.open), "their number is bounded")
}

func TestMetricsOfModelsAreBounded(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	for i := range 3 * maxModels {
		m.ModelCalled(Call{Ref: fmt.Sprintf("p/m%d", i), Outcome: OutcomeOK, Duration: time.Second})
	}
	require.Equal(t, maxModels+1, testutil.CollectAndCount(m.times))
}
