package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/config"
	"intenthint/hint"
	"intenthint/intents"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/subjects"
)

// losses take sessions away from a system.
var losses = map[string]func(t *testing.T, dir string){
	"the directory": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) },
	"what stands in it": func(t *testing.T, dir string) {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, f.Name())))
		}
	},
}

func TestRemovedSessionsAreRebuilt(t *testing.T) {
	t.Parallel()
	for name, lose := range losses {
		t.Run(name+" while it runs", func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			want := s.Converse()
			lose(t, s.Config.Store.SessionsDir)
			s.Eventually("the documents are back", func() bool { return s.Same(want) })
			require.Contains(t, s.Log.String(), "replay")
		})
		t.Run(name+" before a start", func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			want := s.Converse()
			require.NoError(t, s.Stop())
			lose(t, s.Config.Store.SessionsDir)
			again := startWith(t, s.Config)
			again.Eventually("the documents are back", func() bool { return again.Same(want) })
		})
	}
}

func TestARestartWithTheSameSessionsReplaysNothing(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	want := s.Converse()
	require.NoError(t, s.Stop())
	again := startWith(t, s.Config)
	again.Ask(again.Prompt("new", "r", "write some code for me please"), time.Minute)
	again.Eventually("the new turn", func() bool { return again.Document("new") != nil })
	require.True(t, again.Same(mapsWith(want, again.Files(), "new.json")))
	require.NotContains(t, again.Log.String(), "replay")
}

func mapsWith(base, other map[string][]byte, name string) map[string][]byte {
	out := maps.Clone(base)
	out[name] = other[name]
	return out
}

func TestACorruptSessionFileIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, session := range map[string]string{
		"a token that says which session it is": "two/three",
		"a token that was shortened":            strings.Repeat("long-", 50),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			turns := func() int {
				data, _ := os.ReadFile(filepath.Join(s.Config.Store.SessionsDir, subjects.Name(session)+".json"))
				return bytes.Count(data, []byte(`"runId"`))
			}
			for run := range 2 {
				s.Ask(s.Prompt(session, strconv.Itoa(run), "write some code for me please"), time.Minute)
			}
			s.Eventually("the turns", func() bool { return turns() == 2 })
			path := filepath.Join(s.Config.Store.SessionsDir, subjects.Name(session))
			require.NoError(t, os.WriteFile(path+".json", []byte(`{"current": `), 0o600))
			s.Ask(s.Prompt(session, "latest", "write some code for me please"), time.Minute)
			s.Eventually("the turns of before", func() bool { return turns() == 3 })
			aside, err := filepath.Glob(path + ".corrupt-*")
			require.NoError(t, err)
			require.Len(t, aside, 1)
		})
	}
}

// A session file that somebody deletes comes back with the session's next event.
func TestADeletedSessionFileIsRebuilt(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	path := filepath.Join(s.Config.Store.SessionsDir, "s.json")
	turns := func() int {
		data, _ := os.ReadFile(path)
		return bytes.Count(data, []byte(`"runId"`))
	}
	for run := range 2 {
		s.Ask(s.Prompt("s", strconv.Itoa(run), "write some code for me please"), time.Minute)
	}
	s.Eventually("the turns", func() bool { return turns() == 2 })
	require.NoError(t, os.Remove(path))
	s.Ask(s.Prompt("s", "latest", "write some code for me please"), time.Minute)
	s.Eventually("the turns of before", func() bool { return turns() == 3 })
}

// A process that found sessions lost has died before it made them again.
func TestTheNextProcessRebuildsLostSessions(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	want := s.Converse()
	require.NoError(t, s.Stop())
	sessions, err := app.OpenStore(t.Context(), s.Config, nil, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, sessions.MarkLost(t.Context(), "one"))
	require.NoError(t, os.Remove(filepath.Join(s.Config.Store.SessionsDir, "one.json")))
	again := startWith(t, s.Config)
	again.Eventually("the documents are back", func() bool { return again.Same(want) })
	again.Eventually("nothing is lost any more", func() bool {
		losses, err := sessions.Lost(t.Context())
		return err == nil && len(losses) == 0
	})
}

// settingsOf returns the settings by which events begin turns.
func settingsOf(cfg *config.Config) func() *hint.Settings {
	settings := app.Settings(cfg, intents.Bundled())
	return func() *hint.Settings { return settings }
}

// refusing is a store that cannot write one session at first.
type refusing struct {
	store.Store
	often atomic.Int32
}

func (r *refusing) Apply(ctx context.Context, facts []store.Fact) error {
	if facts[0].SessionID == "one" && r.often.Add(-1) >= 0 {
		return errors.New("not now")
	}
	return r.Store.Apply(ctx, facts)
}

func TestAFailedRebuildIsRetried(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	want := s.Converse()
	sessions, err := file.Open(t.TempDir(), store.Options{HistoryLimit: s.Config.Store.HistoryLimit})
	require.NoError(t, err)
	hindered := &refusing{Store: sessions}
	hindered.often.Store(2)
	r := app.NewRebuilder(s.Bus.JS, app.Layout(s.Config), settingsOf(s.Config), slog.New(slog.DiscardHandler))
	ok, err := r.Whole(t.Context(), hindered, false)
	require.NoError(t, err)
	require.True(t, ok)
	require.ErrorContains(t, r.Single(t.Context(), hindered), "session one")
	losses, err := sessions.Lost(t.Context())
	require.NoError(t, err)
	require.Len(t, losses, 1)
	require.NoError(t, r.Single(t.Context(), hindered))
	losses, err = sessions.Lost(t.Context())
	require.NoError(t, err)
	require.Empty(t, losses)
	got, err := os.ReadFile(filepath.Join(sessions.Dir(), "one.json"))
	require.NoError(t, err)
	require.Equal(t, string(want["one.json"]), string(got))
}

func TestSessionsOfAnotherSystemAreNotTouched(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	want := s.Converse()
	s.Eventually("the source", func() bool {
		_, err := os.Stat(filepath.Join(s.Config.Store.SessionsDir, ".source"))
		return err == nil
	})
	settings := map[string]string{
		"HINT_NATS_URL": s.Bus.URL(), "HINT_SESSIONS_DIR": s.Config.Store.SessionsDir, "HINT_SUBJECT_PREFIX": "other", "HINT_STREAM": "OTHER_EVENTS",
	}
	err := app.New(apptest.Settle(t, settings), app.Options{Version: "0.0.0", Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar)}).Run(t.Context())
	require.ErrorIs(t, err, app.ErrOtherStream)
	require.ErrorContains(t, err, "OPENCLAW_EVENTS, not OTHER_EVENTS")
	require.True(t, s.Same(want))
	_, err = s.JS.Stream(t.Context(), "OTHER_EVENTS")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "it was refused before it made the other system's stream")

	delete(settings, "HINT_SESSIONS_DIR")
	start(t, settings) // as it was told
}

// An event that waits keeps all that were applied after it from counting as
// applied up to there.
func TestALostStoreIsRebuiltWhileAnEventIsPending(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer b.Close()
	cfg := apptest.Settle(t, nil)
	layout := app.Layout(cfg)
	_, err = bus.Provision(t.Context(), b.JS, layout)
	require.NoError(t, err)
	for _, session := range []string{"waits", "applied"} {
		body, err := json.Marshal(map[string]any{
			"hook": "after_tool_call", "id": session, "ts": 1763680000123, "event": map[string]any{"toolName": "read", "toolCallId": "c"},
			"ctx": map[string]any{"sessionId": session, "runId": "r"},
		})
		require.NoError(t, err)
		_, err = b.JS.Publish(t.Context(), layout.Prefix.Event("after_tool_call", "main", session), body)
		require.NoError(t, err)
	}
	durable, err := b.JS.Consumer(t.Context(), layout.Stream, layout.QueueGroup)
	require.NoError(t, err)
	got, err := durable.Fetch(2)
	require.NoError(t, err)
	<-got.Messages()
	require.NoError(t, (<-got.Messages()).DoubleAck(t.Context()))

	sessions := &applying{}
	sessions.Store, err = file.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	r := app.NewRebuilder(b.JS, layout, settingsOf(cfg), slog.New(slog.DiscardHandler))
	require.NoError(t, r.Begin(t.Context(), sessions), "it is too late to begin")
	require.Empty(t, sessions.got)
	ok, err := r.Whole(t.Context(), sessions, false)
	require.NoError(t, err)
	require.True(t, ok)
	require.ElementsMatch(t, []string{"waits", "applied"}, sessions.got)
	ok, err = r.Whole(t.Context(), sessions, false)
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, sessions.got, 2, "it is whole now")
}

func TestANewStoreIsComplete(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer b.Close()
	cfg := apptest.Settle(t, nil)
	layout := app.Layout(cfg)
	_, err = bus.Provision(t.Context(), b.JS, layout)
	require.NoError(t, err)
	sessions, err := file.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	require.NoError(t, app.NewRebuilder(b.JS, layout, settingsOf(cfg), slog.New(slog.DiscardHandler)).Begin(t.Context(), sessions))
	source, err := sessions.Source(t.Context())
	require.NoError(t, err)
	require.Equal(t, layout.Stream, source.Stream)
}

// A stream that was deleted and made again is named once, whether a process runs
// meanwhile or starts afterwards; one that is the same is not.
func TestAStreamThatWasMadeAnewIsNamed(t *testing.T) {
	t.Parallel()
	const line = "event stream was made anew"
	for _, running := range []bool{true, false} {
		t.Run("while it runs: "+strconv.FormatBool(running), func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			want := s.Converse()
			s.Eventually("the source", func() bool {
				_, err := os.Stat(filepath.Join(s.Config.Store.SessionsDir, ".source"))
				return err == nil
			})
			if running {
				require.NoError(t, s.JS.DeleteStream(t.Context(), "OPENCLAW_EVENTS"))
			} else {
				require.NoError(t, s.Stop())
				require.NotContains(t, s.Log.String(), line)
				s = startWith(t, s.Config)
				s.Eventually("ready", func() bool { return strings.Contains(s.Log.String(), `"ready"`) })
				require.NotContains(t, s.Log.String(), line, "it is the same")
				require.NoError(t, s.Stop())
				require.NoError(t, os.RemoveAll(filepath.Join(s.Config.DataDir, "jetstream", "$G", "streams", "OPENCLAW_EVENTS")))
				s = startWith(t, s.Config)
			}
			s.Eventually("the line", func() bool { return strings.Contains(s.Log.String(), line) })
			s.Ask(s.Prompt("new", "r", "write some code for me please"), time.Minute)
			s.Eventually("the new turn", func() bool { return s.Document("new") != nil })
			require.True(t, s.Same(mapsWith(want, s.Files(), "new.json")), "sessions stay")
			require.Equal(t, 1, strings.Count(s.Log.String(), line))
		})
	}
}

// A bucket of sessions that is purged, as by an operator's mistake, is filled again from
// the stream, and a line says so.
func TestAPurgedBucketOfSessionsIsRebuilt(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_STORE": "kv"})
	for run := range 3 {
		s.Ask(s.Prompt("s", strconv.Itoa(run), "write some code for me please"), time.Minute)
	}
	sessions, err := app.OpenStore(t.Context(), s.Config, s.JS, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	turns := func() int {
		document, _ := sessions.Get(t.Context(), "s")
		return bytes.Count(document, []byte(`"runId"`))
	}
	s.Eventually("the turns", func() bool { return turns() == 3 })
	s.Eventually("the source", func() bool {
		source, err := sessions.Source(t.Context())
		return err == nil && source.Stream != ""
	})
	bucket, err := s.JS.Stream(t.Context(), "KV_OPENCLAW_EVENTS_SESSIONS")
	require.NoError(t, err)
	require.NoError(t, bucket.Purge(t.Context()))
	s.Eventually("the turns are back", func() bool { return turns() == 3 })
	require.Regexp(t, `"msg":"replaying the stream into the session store","reason":"the store (is new, or )?lost its sessions","from_sequence":1,`, s.Log.String())
}

func TestReplayReason(t *testing.T) {
	t.Parallel()
	now := time.Now()
	source := store.Source{Stream: "S", Created: now, Fold: 2}
	anew, earlier := source, source
	anew.Created = now.Add(-time.Hour)
	earlier.Fold = 1
	for _, tt := range []struct {
		name          string
		source, known store.Source
		want          string
	}{
		{"nothing known", store.Source{}, store.Source{}, "the store is new, or lost its sessions"},
		{"it was complete before", store.Source{}, source, "the store lost its sessions"},
		{"of an earlier stream", anew, store.Source{}, "the stream was made anew"},
		{"of an earlier version", earlier, store.Source{}, "an earlier version made the sessions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, app.ReplayReason(tt.source, tt.known, source))
		})
	}
}

// applying notes the sessions that facts are applied to.
type applying struct {
	store.Store
	mu  sync.Mutex
	got []string
}

func (a *applying) Apply(ctx context.Context, facts []store.Fact) error {
	a.mu.Lock()
	a.got = append(a.got, facts[0].Session())
	a.mu.Unlock()
	return a.Store.Apply(ctx, facts)
}
