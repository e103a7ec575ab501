package app

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/internal/config"
	"intenthint/knowhub"
	"intenthint/model/provider"
)

func TestARejectedConfigurationLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	good, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()})
	require.NoError(t, err)
	level := new(slog.LevelVar)
	l := newLive(good, NewMetrics("test"), slog.New(slog.DiscardHandler), level)
	bad := *good
	bad.Classifier.Mode, bad.Classifier.Model = classify.ModeLLM, "p/m"
	bad.Classifier.Providers = map[string]provider.Config{"p": {BaseURL: "http://127.0.0.1", API: "no such format"}}
	bad.Log.Level = slog.LevelError
	require.NoError(t, l.load())
	require.Error(t, l.useConfig(&bad))
	require.Same(t, good, l.cfg)
	require.Equal(t, slog.LevelInfo, level.Level())
}

func TestANewModelOfKnowHubHasSeries(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()})
	require.NoError(t, err)
	m := NewMetrics("test")
	l := newLive(cfg, m, slog.New(slog.DiscardHandler), new(slog.LevelVar))
	require.NoError(t, l.knowHub(knowhub.New(knowhub.Options{})))
	next := *cfg
	next.KnowHub.Model = "mock/new"
	l.cfg = &next
	before, err := testutil.GatherAndCount(m.Registry, "intenthint_model_calls_total")
	require.NoError(t, err)
	require.NoError(t, l.rebuildKnowHub())
	after, err := testutil.GatherAndCount(m.Registry, "intenthint_model_calls_total")
	require.NoError(t, err)
	require.Greater(t, after, before)
}
