package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/config"
	"intenthint/hint"
	"intenthint/intents"
	"intenthint/knowhub"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/part"
)

func TestARejectedConfigurationLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	good, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()}, Objects()...)
	require.NoError(t, err)
	level := new(slog.LevelVar)
	l := newLive(good, NewMetrics("test", ""), slog.New(slog.DiscardHandler), level)
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
	cfg, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()}, Objects()...)
	require.NoError(t, err)
	m := NewMetrics("test", "")
	l := newLive(cfg, m, slog.New(slog.DiscardHandler), new(slog.LevelVar))
	require.NoError(t, l.load())
	l.train()
	l.serve(hint.New(hint.Options{}))
	next := *cfg
	next.Parts = knowhub.Declared.With(cfg.Parts, func(s *knowhub.Settings) { s.Enabled, s.Model = true, "mock/new" })
	l.follow(&part.Running{Use: func(p part.Program) (func(), error) {
		_, err := knowhub.Make(p)
		return func() {}, err
	}})
	before, err := testutil.GatherAndCount(m.Registry, "intenthint_model_calls_total")
	require.NoError(t, err)
	require.NoError(t, l.useConfig(&next))
	after, err := testutil.GatherAndCount(m.Registry, "intenthint_model_calls_total")
	require.NoError(t, err)
	require.Greater(t, after, before)
}

// Parts prepare for a configuration before it is used, which may take them a while, and
// use it together with everything else.
func TestPartsPrepareBeforeAConfigurationIsUsed(t *testing.T) {
	t.Parallel()
	local, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()}, Objects()...)
	require.NoError(t, err)
	asking := *local
	asking.Classifier.Mode, asking.Classifier.Model = classify.ModeLLM, "none/m"
	asking.Classifier.Providers = map[string]provider.Config{"none": {BaseURL: "http://127.0.0.1:1", API: provider.APIOpenAI}}
	l := newLive(local, NewMetrics("test", ""), slog.New(slog.DiscardHandler), new(slog.LevelVar))
	require.NoError(t, l.load())
	l.train()
	var prepared, used []string
	var refused error
	free := false
	for _, name := range []string{"one", "other"} {
		l.follow(&part.Running{Use: func(p part.Program) (func(), error) {
			require.True(t, p.AsksModels)
			require.Empty(t, used, "nothing is used before all are prepared")
			if free = l.mu.TryLock(); free {
				l.mu.Unlock()
			}
			prepared = append(prepared, name)
			return func() { used = append(used, name) }, refused
		}})
	}
	l.follow(&part.Running{})
	l.serve(hint.New(hint.Options{}))
	before := l.settings()
	refused = errors.New("no")
	require.ErrorIs(t, l.useConfig(&asking), refused)
	require.Empty(t, used)
	require.Same(t, before, l.settings())
	refused, prepared = nil, nil
	require.NoError(t, l.useConfig(&asking))
	require.Equal(t, []string{"one", "other"}, prepared)
	require.Equal(t, prepared, used)
	require.True(t, free, "others need not wait while NATS is asked")
	require.NotSame(t, before, l.settings())
}

// TestLimitsOutliveACatalogue has as many calls under way as there may be while the
// catalogue changes.
func TestLimitsOutliveACatalogue(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.LoadFrom(map[string]string{
		"HINT_DATA_DIR": t.TempDir(), "HINT_CLASSIFIER": "llm", "HINT_MODEL": "none/m", "HINT_WRITER": "none/w", "HINT_MAX_INFLIGHT": "1",
	})
	require.NoError(t, err)
	cfg.Classifier.Providers = map[string]provider.Config{"none": {BaseURL: "http://127.0.0.1:1", API: provider.APIOpenAI}}
	l := newLive(cfg, NewMetrics("test", ""), slog.New(slog.DiscardHandler), new(slog.LevelVar))
	require.NoError(t, l.load())
	l.train()
	l.serve(hint.New(hint.Options{}))
	before := l.settings()
	release := make(chan struct{})
	defer close(release)
	model.Start(t.Context(), l.models.limit, 1, func(context.Context) (any, error) {
		<-release
		return nil, nil
	})
	other := intents.NewCatalog(intents.Bundled().Enabled()[:5])
	l.useCatalog(other)
	after := l.settings()
	require.NotSame(t, before.Classifier, after.Classifier)
	_, err = after.Classifier.Classify(t.Context(), classify.Input{Latest: "hello", Catalog: other})
	require.ErrorIs(t, err, classify.ErrOverloaded)
	require.Same(t, before.Writer, after.Writer, "its instructions are kept")
}
