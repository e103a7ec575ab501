package app_test

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/internal/natstest"
)

func TestWhoBelongsToASystem(t *testing.T) {
	t.Parallel()
	file := func(id, place string) bus.System { return bus.System{ID: id, Store: "file", Place: place} }
	kv := bus.System{ID: "k", Store: "kv"}
	for _, row := range []struct {
		name       string
		own, found bus.System
		alive      bool
		same       bool
	}{
		{"the same directory", file("a", "h:/d"), file("a", "h:/d"), true, true},
		{"the same directory, moved", file("a", "h:/e"), file("a", "h:/d"), true, true},
		{"the same directory, mounted on another host", file("a", "i:/d"), file("a", "h:/d"), true, true},
		{"another system's directory", file("b", "h:/d"), file("a", "h:/d"), false, false},
		{"a new directory elsewhere", file("", "h:/e"), file("a", "h:/d"), false, false},
		{"the system's directory, emptied", file("", "h:/d"), file("a", "h:/d"), true, true},
		{"a new directory of the same path on another host", file("", "i:/d"), file("a", "h:/d"), true, false},
		{"the same, and no process of the system runs", file("", "i:/d"), file("a", "h:/d"), false, true},
		{"the first directory of a system without a place", file("", "h:/d"), file("a", ""), false, true},
		{"a second directory of a system without a place", file("", "h:/e"), file("a", ""), true, false},
		{"buckets", kv, kv, true, true},
		{"a bucket beside files", kv, file("a", "h:/d"), false, false},
		{"files beside a bucket", file("", "h:/d"), kv, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.same, app.SameSystem(row.own, row.found, row.alive))
		})
	}
}

// An operator has made the streams before any consumer ran.
func TestTheFirstProcessTakesThePlaceOfASystem(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	settings := map[string]string{"HINT_NATS_URL": ns.ClientURL()}
	first, second := apptest.Settle(t, settings), apptest.Settle(t, settings)
	js := natstest.JetStream(t, ns)
	layout := app.Layout(first)
	layout.System = bus.System{ID: "a", Store: "file"}
	_, err := bus.Provision(t.Context(), js, layout)
	require.NoError(t, err)

	require.NoError(t, startWith(t, first).Stop())
	found, _, err := bus.ReadSystem(t.Context(), js, layout)
	require.NoError(t, err)
	require.Equal(t, "a", found.ID)
	require.Contains(t, found.Place, first.Store.SessionsDir)

	a := app.New(second, app.Options{Version: "0.0.0", Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar)})
	err = a.Start(context.Background())
	require.NoError(t, a.Stop())
	require.ErrorIs(t, err, app.ErrStoreMismatch)
	require.Less(t, len(err.Error()), 500, "one line that a person reads: %v", err)
	require.ErrorContains(t, err, first.Store.SessionsDir)
	require.NoError(t, startWith(t, first).Stop())
}

// A copy of a directory has the id of the system, but each process would write its
// turns into another one.
func TestACopyOfADirectory(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, nil).ClientURL()
	original := apptest.Settle(t, map[string]string{"HINT_NATS_URL": url})
	first := startWith(t, original)
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(dir, os.DirFS(original.Store.SessionsDir)))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(original.Store.SessionsDir, link))
	settle := func(dir string) *config.Config {
		return apptest.Settle(t, map[string]string{"HINT_NATS_URL": url, "HINT_SESSIONS_DIR": dir})
	}
	refused := func(cfg *config.Config) {
		t.Helper()
		a := app.New(cfg, app.Options{Version: "0.0.0", Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar)})
		err := a.Start(context.Background())
		require.NoError(t, a.Stop())
		require.ErrorIs(t, err, app.ErrStoreMismatch)
		require.ErrorContains(t, err, "it is a copy of that of a running process")
	}
	refused(settle(dir))
	require.NoError(t, startWith(t, settle(link)).Stop(), "another path of the same directory")
	require.NoError(t, first.Stop())

	second := startWith(t, settle(dir)) // a copy that is used instead of the first
	refused(original)
	require.NoError(t, second.Stop())
	require.NoError(t, startWith(t, original).Stop())
}

// A second process with another store would split sessions in two.
func TestProcessesOfAnotherStoreDoNotStart(t *testing.T) {
	t.Parallel()
	first := start(t, nil)
	for _, row := range []struct {
		name     string
		settings map[string]string
		says     []string
	}{
		{"another directory", nil, []string{"HINT_DATA_DIR or HINT_SESSIONS_DIR", "HINT_STORE=kv", "HINT_NATS_PORT", "HINT_STREAM"}},
		{"a bucket beside files", map[string]string{"HINT_STORE": "kv"}, []string{"key-value", "HINT_STORE=file", "HINT_NATS_PORT", "HINT_STREAM"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			settings := map[string]string{"HINT_NATS_URL": first.Bus.URL(), "HINT_QUEUE_GROUP": "another"}
			maps.Copy(settings, row.settings)
			cfg := apptest.Settle(t, settings)
			a := app.New(cfg, app.Options{Version: "0.0.0", Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar)})
			err := a.Start(context.Background())
			require.NoError(t, a.Stop())
			require.ErrorIs(t, err, app.ErrStoreMismatch)
			require.ErrorContains(t, err, first.Config.Store.SessionsDir)
			for _, s := range row.says {
				require.ErrorContains(t, err, s)
			}
			require.NotContains(t, err.Error(), "\n")
			_, err = os.Stat(filepath.Join(cfg.Store.SessionsDir, ".system"))
			require.ErrorIs(t, err, os.ErrNotExist)
			_, err = first.JS.Consumer(t.Context(), cfg.Bus.Stream, "another")
			require.ErrorIs(t, err, jetstream.ErrConsumerNotFound, "nothing was created")
		})
	}
	t.Run("the same directory", func(t *testing.T) {
		start(t, map[string]string{"HINT_NATS_URL": first.Bus.URL(), "HINT_SESSIONS_DIR": first.Config.Store.SessionsDir})
	})
}

func TestASystemKeepsItsName(t *testing.T) {
	t.Parallel()
	cfg := apptest.Settle(t, nil)
	name := func() string {
		data, err := os.ReadFile(filepath.Join(cfg.Store.SessionsDir, ".system"))
		require.NoError(t, err)
		return strings.TrimSpace(string(data))
	}
	s := startWith(t, cfg)
	first := name()
	require.NotEmpty(t, first)
	require.NoError(t, s.Stop())

	s = startWith(t, cfg)
	require.Equal(t, first, name())
	require.NoError(t, s.Stop())

	require.NoError(t, os.RemoveAll(cfg.Store.SessionsDir))
	s = startWith(t, cfg)
	require.Equal(t, first, name(), "sessions that were lost are made again, not a new system")
	require.NoError(t, s.Stop())

	require.NoError(t, os.RemoveAll(filepath.Join(cfg.DataDir, "jetstream")))
	s = startWith(t, cfg)
	require.Equal(t, first, name(), "a stream that was lost is made again for the same system")
	require.Eventually(t, func() bool { // it pulls a moment after the start
		found, alive, err := bus.ReadSystem(t.Context(), s.JS, app.Layout(cfg))
		require.NoError(t, err)
		require.Equal(t, first, found.ID)
		return alive
	}, time.Minute, 5*time.Millisecond)
}
