package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/model"
	"intenthint/store"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1.2.3", "abc")
	m.reload(reloadConfig, nil)
	m.reload(reloadConfig, errors.New("bad"))
	m.reload(reloadIntents, nil)
	m.embedding(true)
	require.NoError(t, testutil.GatherAndCompare(m.Registry, strings.NewReader(`
# HELP intenthint_build_info The version of the program and the commit it was built from; always 1.
# TYPE intenthint_build_info gauge
intenthint_build_info{commit="abc",version="v1.2.3"} 1
# HELP intenthint_embedding_ready 1 while the embedding model is in use, 0 when none is configured or its vectors of the intents are missing.
# TYPE intenthint_embedding_ready gauge
intenthint_embedding_ready 1
# HELP intenthint_reloads_total Reloads of the configuration and of the intent files, by result.
# TYPE intenthint_reloads_total counter
intenthint_reloads_total{result="error",what="config"} 1
intenthint_reloads_total{result="error",what="intents"} 0
intenthint_reloads_total{result="ok",what="config"} 1
intenthint_reloads_total{result="ok",what="intents"} 1
`), "intenthint_build_info", "intenthint_embedding_ready", "intenthint_reloads_total"))
	require.Zero(t, testutil.ToFloat64(m.configOK), "the file is wrong")
	require.InDelta(t, float64(time.Now().Unix()), testutil.ToFloat64(m.configReloadedAt), 60)
	m.reload(reloadConfig, nil)
	require.InDelta(t, 1, testutil.ToFloat64(m.configOK), 0)
	m.reload(reloadIntents, errors.New("bad"))
	require.InDelta(t, 1, testutil.ToFloat64(m.configOK), 0)
	m.embedding(false)
	require.Zero(t, testutil.ToFloat64(m.embeddingReady))
}

func TestMetricNamesPassTheLinter(t *testing.T) {
	t.Parallel()
	m := NewMetrics("test", "")
	m.models.ModelCalled(model.Call{Ref: "p/m", Outcome: model.OutcomeOK, Duration: time.Second})
	problems, err := testutil.GatherAndLint(m.Registry)
	require.NoError(t, err)
	for _, p := range problems {
		require.False(t, strings.HasPrefix(p.Metric, "intenthint_"), "%s: %s", p.Metric, p.Text)
	}
}

// counting is a store whose sessions can be counted, or cannot.
type counting struct {
	store.Reader
	sessions atomic.Int64 // less than 0 for an error
}

func (c *counting) Count(context.Context) (int, error) {
	if n := c.sessions.Load(); n >= 0 {
		return int(n), nil
	}
	return 0, errors.New("away")
}

func TestSessionsAreCountedNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, sessions := NewMetrics("test", ""), &counting{}
		sessions.sessions.Store(3)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go m.countSessions(ctx, sessions, slog.New(slog.DiscardHandler))
		shown := func(want float64) {
			t.Helper()
			synctest.Wait()
			require.InDelta(t, want, testutil.ToFloat64(m.sessions), 0)
		}
		shown(3)
		sessions.sessions.Store(4)
		time.Sleep(sessionsPause)
		shown(4)
		sessions.sessions.Store(-1)
		time.Sleep(sessionsPause)
		synctest.Wait()
		require.Zero(t, testutil.CollectAndCount(m.sessions), "what was true before is no longer shown")
		sessions.sessions.Store(5)
		time.Sleep(sessionsPause)
		shown(5)
	})
}
