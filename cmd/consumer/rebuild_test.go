package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/internal/events"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/subjects"
)

// What stands beside a document is made again as well, and an export shows what
// can be read of it until then.
func TestUnreadableFilesBesideADocumentAreRebuilt(t *testing.T) {
	t.Parallel()
	spoilFile := func(suffix string) func(*testing.T, *system) {
		return func(t *testing.T, s *system) {
			t.Helper()
			path := filepath.Join(s.Config.Store.SessionsDir, "long"+suffix)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data[:len(data)-10], 0o600))
		}
	}
	for name, tc := range map[string]struct {
		store string
		spoil func(*testing.T, *system)
	}{
		"a history":       {"file", spoilFile(".history.jsonl")},
		"facts that wait": {"file", spoilFile(".pending")},
		"a turn of its own": {"kv", func(t *testing.T, s *system) {
			_, err := s.JS.Publish(t.Context(), "$KV.OPENCLAW_EVENTS_SESSIONS.long.h.r1", []byte("r{"))
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, map[string]string{"HINT_STORE": tc.store, "HINT_HISTORY_LIMIT": "1"})
			sessions, err := app.OpenStore(t.Context(), s.Config, s.Bus.JS, nil, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			retired := func() string {
				turns, err := sessions.Retired(t.Context(), "long")
				require.NoError(t, err)
				var lines strings.Builder
				for _, turn := range turns {
					lines.Write(turn)
					lines.WriteByte('\n')
				}
				return lines.String()
			}
			call := func(run, id string) {
				event, _ := json.Marshal(map[string]any{"runId": run, "toolName": "read", "toolCallId": id, "params": map[string]any{}, "result": "text"})
				ctx, _ := json.Marshal(payload.Context{RunID: run, AgentID: "main", SessionID: "long"})
				s.Tell(payload.Envelope{Hook: subjects.HookAfterToolCall, Event: event, Ctx: ctx, TS: 1763680000000, ID: id})
			}
			call("late", "waits")
			for run := range 5 {
				s.Ask(s.Prompt("long", "r"+strconv.Itoa(run), "write some code for me please"), time.Minute)
			}
			s.Eventually("turns that are retired", func() bool { return strings.Count(retired(), `"runId"`) == 3 })
			call("other", "r0's key is written before this")
			s.Eventually("nothing on its way", func() bool {
				place, err := events.Where(t.Context(), s.Bus.JS, app.Layout(s.Config))
				return err == nil && place.Applied == place.Last
			})
			want := retired()
			tc.spoil(t, s)
			var stdout, stderr bytes.Buffer
			env := s.env.with("HINT_NATS_URL", s.Bus.URL())
			require.Equal(t, exitOK, env.run(t.Context(), []string{"sessions", "export", t.TempDir()}, &stdout, &stderr), stderr.String())
			if name != "facts that wait" {
				require.Contains(t, stderr.String(), "corrupt")
			}
			require.Equal(t, "wrote 1 session", strings.SplitN(stdout.String(), " to", 2)[0])

			// One for a turn that was retired, and one that has no run.
			call("r1", "noticed")
			call("", "before all")
			s.Eventually("it is rebuilt", func() bool {
				losses, err := sessions.Lost(t.Context())
				return err == nil && len(losses) == 0 && strings.Count(s.Log.String(), "setting aside corrupt") == 1 &&
					strings.Count(retired(), `"runId"`) == 3 && strings.Contains(retired(), "noticed")
			})
			s.Ask(s.Prompt("long", "late", "write some code for me please"), time.Minute)
			s.Eventually("what waited", func() bool {
				document, err := sessions.Get(t.Context(), "long")
				return err == nil && bytes.Contains(document, []byte("waits"))
			})
			for line := range strings.Lines(want) {
				if !strings.Contains(line, `"runId":"r1"`) {
					require.Contains(t, retired(), strings.TrimSpace(line))
				}
			}
			require.Equal(t, 1, strings.Count(s.Log.String(), "setting aside corrupt"))
		})
	}
}

// The command decides by the same rules as the consumer which events begin turns.
func TestSessionsRebuildBeginsTurns(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_AGENTS": "main", "HINT_QUERY_MODE": "message"})
	s.Tell(s.Prompt("told", "r1", "review my code please"))
	other := s.Prompt("other", "r2", "review my code please")
	other.Ctx = bytes.ReplaceAll(other.Ctx, []byte(`"main"`), []byte(`"ops"`))
	s.Tell(other)
	s.Tell(s.Prompt("told", "r3", "and again"))
	s.Eventually("both turns", func() bool { history, _ := s.Document("told")["history"].([]any); return len(history) == 1 })
	want := s.Files()
	require.Len(t, want, 1)
	require.NoError(t, os.Remove(filepath.Join(s.Config.Store.SessionsDir, "told.json")))
	var stdout, stderr bytes.Buffer
	env := s.env.with("HINT_NATS_URL", s.Bus.URL())
	require.Equal(t, exitOK, env.run(t.Context(), []string{"sessions", "rebuild"}, &stdout, &stderr), stderr.String())
	require.Equal(t, "applied 3 events again\n", stdout.String())
	require.True(t, s.Same(want))
}

func TestSessionsRebuild(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	want := s.Converse()
	path := filepath.Join(s.Config.Store.SessionsDir, "one.json")
	const key = "agent:main:telegram:direct:one"
	for name, tc := range map[string]struct {
		damage func()
		args   []string
		out    string
		code   int
	}{
		"nothing was lost": {func() {}, nil, "applied 10 events again\n", exitOK},
		"a file is gone":   {func() { require.NoError(t, os.Remove(path)) }, nil, "applied 10 events again\n", exitOK},
		"one session":      {func() { require.NoError(t, os.Remove(path)) }, []string{"one"}, "applied 5 events again\n", exitOK},
		"corrupt file":     {func() { require.NoError(t, os.WriteFile(path, []byte("]"), 0o600)) }, []string{"one"}, "applied 5 events again\n", exitOK},
		"by its key":       {func() { require.NoError(t, os.Remove(path)) }, []string{key}, "applied 5 events again\n", exitOK},
		"by key and id":    {func() { require.NoError(t, os.Remove(path)) }, []string{key, "one"}, "applied 5 events again\n", exitOK},
		"unknown session":  {func() {}, []string{"none"}, "applied 0 events again\n", exitFailed},
		"no name":          {func() {}, []string{""}, "applied 0 events again\n", exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			tc.damage()
			var stdout, stderr bytes.Buffer
			env := s.env.with("HINT_NATS_URL", s.Bus.URL())
			require.Equal(t, tc.code, env.run(t.Context(), append([]string{"sessions", "rebuild"}, tc.args...), &stdout, &stderr), stderr.String())
			require.Equal(t, tc.out, stdout.String())
			require.True(t, s.Same(want))
		})
	}
}

// It would be a copy that nobody knows of, and that `sessions rm` does not remove.
func TestSessionsRebuildNeedsTheStoreOfTheSystem(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Converse()
	for name, store := range map[string]string{"another directory": "file", "another store": "kv"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sessions")
			env := settle(t, map[string]string{"HINT_NATS_URL": s.Bus.URL(), "HINT_STORE": store, "HINT_SESSIONS_DIR": dir})
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitFailed, env.run(t.Context(), []string{"sessions", "rebuild"}, &stdout, &stderr))
			require.Contains(t, stderr.String(), "session store of another system")
			require.NoDirExists(t, dir)
			_, err := s.JS.KeyValue(t.Context(), "OPENCLAW_EVENTS_SESSIONS")
			require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
		})
	}
}

func TestARebuildEndsTheConsumersOwn(t *testing.T) {
	t.Parallel()
	for session, left := range map[string][]string{"one": {"two"}, "": nil, "other": {"one", "two"}} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			sessions, err := file.Open(t.TempDir(), store.Options{})
			require.NoError(t, err)
			for _, token := range []string{"one", "one", "two"} {
				require.NoError(t, sessions.MarkLost(t.Context(), token))
			}
			losses, err := sessions.Lost(t.Context())
			require.NoError(t, err)
			require.NoError(t, recovered(t.Context(), sessions, losses, session))
			losses, err = sessions.Lost(t.Context())
			require.NoError(t, err)
			var tokens []string
			for _, loss := range losses {
				if !slices.Contains(tokens, loss.Token) {
					tokens = append(tokens, loss.Token)
				}
			}
			require.ElementsMatch(t, left, tokens)
		})
	}
}
