package app

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/model"
)

func TestMetricsCountWhatTheyAreToldOf(t *testing.T) {
	m := NewMetrics("v1.2.3")
	m.reload(reloadConfig, nil)
	m.reload(reloadConfig, errors.New("bad"))
	m.reload(reloadIntents, nil)
	m.ready(true)
	require.NoError(t, testutil.GatherAndCompare(m.Registry, strings.NewReader(`
# HELP intenthint_build_info The version of the program; always 1.
# TYPE intenthint_build_info gauge
intenthint_build_info{version="v1.2.3"} 1
# HELP intenthint_embedding_ready 1 while the embedding model is in use, 0 when no model is configured or its vectors of the intents are missing.
# TYPE intenthint_embedding_ready gauge
intenthint_embedding_ready 1
# HELP intenthint_reloads_total Reloads of configuration and intent files, by result (ok, error).
# TYPE intenthint_reloads_total counter
intenthint_reloads_total{result="error",what="config"} 1
intenthint_reloads_total{result="error",what="intents"} 0
intenthint_reloads_total{result="ok",what="config"} 1
intenthint_reloads_total{result="ok",what="intents"} 1
`), "intenthint_build_info", "intenthint_embedding_ready", "intenthint_reloads_total"))
	m.ready(false)
	require.Zero(t, testutil.ToFloat64(m.embeddingReady))
}

func TestMetricsHoldToTheRulesOfNaming(t *testing.T) {
	m := NewMetrics("test")
	m.models.ModelCalled(model.Call{Ref: "p/m", Outcome: model.OutcomeOK, Duration: time.Second})
	problems, err := testutil.GatherAndLint(m.Registry)
	require.NoError(t, err)
	for _, p := range problems {
		require.False(t, strings.HasPrefix(p.Metric, "intenthint_"), "%s: %s", p.Metric, p.Text)
	}
}
