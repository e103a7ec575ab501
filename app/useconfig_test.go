package app

import (
	"context"
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
)

func TestARejectedConfigurationLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	good, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()}, Objects()...)
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
	cfg, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()}, Objects()...)
	require.NoError(t, err)
	m := NewMetrics("test")
	l := newLive(cfg, m, slog.New(slog.DiscardHandler), new(slog.LevelVar))
	require.NoError(t, l.load())
	l.train()
	l.serve(hint.New(hint.Options{}))
	next := *cfg
	next.Parts = knowhub.Declared.With(cfg.Parts, func(s *knowhub.Settings) { s.Enabled, s.Model = true, "mock/new" })
	l.serveHub(knowhub.New(knowhub.Options{}))
	before, err := testutil.GatherAndCount(m.Registry, "intenthint_model_calls_total")
	require.NoError(t, err)
	require.NoError(t, l.useConfig(&next))
	after, err := testutil.GatherAndCount(m.Registry, "intenthint_model_calls_total")
	require.NoError(t, err)
	require.Greater(t, after, before)
}

func TestClaimsAreOpenedOnceAndHoldNothingUp(t *testing.T) {
	t.Parallel()
	local, _, err := config.LoadFrom(map[string]string{"HINT_DATA_DIR": t.TempDir()}, Objects()...)
	require.NoError(t, err)
	asking := *local
	asking.Classifier.Mode, asking.Classifier.Model = classify.ModeLLM, "none/m"
	asking.Classifier.Providers = map[string]provider.Config{"none": {BaseURL: "http://127.0.0.1:1", API: provider.APIOpenAI}}
	for _, row := range []struct {
		name  string
		first *config.Config
		want  int // times at the start
	}{
		{"from the start", &asking, 1},
		{"after a reload", local, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLive(row.first, NewMetrics("test"), slog.New(slog.DiscardHandler), new(slog.LevelVar))
			require.NoError(t, l.load())
			l.train()
			opened, free := 0, false
			var before *hint.Settings
			l.onModel(func() {
				opened++
				before = l.settings()
				if free = l.mu.TryLock(); free {
					l.mu.Unlock()
				}
			})
			l.serve(hint.New(hint.Options{}))
			require.Equal(t, row.want, opened)
			for range 2 {
				require.NoError(t, l.useConfig(&asking))
				require.Equal(t, 1, opened)
			}
			require.True(t, free, "others need not wait while NATS is asked")
			require.NotSame(t, before, l.settings(), "before the first use")
		})
	}
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
	l := newLive(cfg, NewMetrics("test"), slog.New(slog.DiscardHandler), new(slog.LevelVar))
	require.NoError(t, l.load())
	l.train()
	l.onModel(func() {})
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
