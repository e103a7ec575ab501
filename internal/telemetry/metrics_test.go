package telemetry

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func TestRegistryHasTheRuntimeAndTheVersion(t *testing.T) {
	r := NewRegistry("v1.2.3", "")
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "intenthint_build_info"} {
		n, err := testutil.GatherAndCount(r, name)
		require.NoError(t, err)
		require.Equal(t, 1, n, name)
	}
}

func TestLabelIsBounded(t *testing.T) {
	label := NewLabel(2)
	for _, row := range []struct{ value, want string }{{"a", "a"}, {"b", "b"}, {"c", "other"}, {"a", "a"}} {
		require.Equal(t, row.want, label.Bound(row.value))
	}
}

func TestZero(t *testing.T) {
	type reason string
	r := prometheus.NewRegistry()
	auto := promauto.With(r)
	counts := auto.NewCounterVec(prometheus.CounterOpts{Name: "counts", Help: "h"}, []string{"verb", "outcome"})
	times := auto.NewHistogramVec(prometheus.HistogramOpts{Name: "times", Help: "h", Buckets: []float64{1}}, []string{"reason"})
	Zero(counts, Values("get", "put"), Values("ok", "error"))
	Zero(counts, Values("get"), Values("ok")) // there already
	Zero(times, Values(reason("late")))
	Zero(times, nil)
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP counts h
# TYPE counts counter
counts{outcome="error",verb="get"} 0
counts{outcome="error",verb="put"} 0
counts{outcome="ok",verb="get"} 0
counts{outcome="ok",verb="put"} 0
# HELP times h
# TYPE times histogram
times_bucket{reason="late",le="1"} 0
times_bucket{reason="late",le="+Inf"} 0
times_sum{reason="late"} 0
times_count{reason="late"} 0
`)))
	require.Panics(t, func() { Zero(counts, Values("get")) }, "a label is missing")
}
