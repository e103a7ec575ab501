package main

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
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/subjects"
)

// converse leaves a few sessions of a few turns each and returns their files.
func (s *system) converse() map[string][]byte {
	s.t.Helper()
	for turn := range 5 {
		for _, session := range []string{"one", "two/three"} {
			s.ask(s.prompt(session, session+strconv.Itoa(turn), "write some code for me please"), time.Minute)
		}
	}
	s.eventually("all turns", func() bool {
		for _, session := range []string{"one", "two/three"} {
			d := s.document(session)
			if d == nil {
				return false
			}
			history, _ := d["history"].([]any)
			if len(history) < 4 {
				return false
			}
		}
		return true
	})
	s.eventually("all acknowledgements", func() bool { // which come after the files
		place, err := bus.Where(s.t.Context(), s.bus.JS, layoutOf(s.cfg))
		return err == nil && place.Applied > 0 && place.Applied == place.Delivered
	})
	return s.files()
}

func (s *system) files() map[string][]byte {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.cfg.Store.SessionsDir, "*.json"))
	require.NoError(s.t, err)
	out := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil {
			out[filepath.Base(path)] = data
		}
	}
	return out
}

func (s *system) same(want map[string][]byte) bool {
	got := s.files()
	for name, data := range want {
		if !bytes.Equal(got[name], data) {
			return false
		}
	}
	return len(got) == len(want)
}

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

func TestSessionsThatVanishAreMadeAgain(t *testing.T) {
	for name, lose := range losses {
		t.Run(name+" while it runs", func(t *testing.T) {
			s := start(t, nil)
			want := s.converse()
			lose(t, s.cfg.Store.SessionsDir)
			s.eventually("the documents are back", func() bool { return s.same(want) })
			require.Contains(t, s.log.String(), "applied again")
		})
		t.Run(name+" before a start", func(t *testing.T) {
			s := start(t, nil)
			want := s.converse()
			require.NoError(t, s.stop())
			lose(t, s.cfg.Store.SessionsDir)
			again := startWith(t, s.cfg)
			again.eventually("the documents are back", func() bool { return again.same(want) })
		})
	}
}

func TestAStartWithTheSameSessionsReadsNothingAgain(t *testing.T) {
	s := start(t, nil)
	want := s.converse()
	require.NoError(t, s.stop())
	again := startWith(t, s.cfg)
	again.ask(again.prompt("new", "r", "write some code for me please"), time.Minute)
	again.eventually("the new turn", func() bool { return again.document("new") != nil })
	require.True(t, again.same(mapsWith(want, again.files(), "new.json")))
	require.NotContains(t, again.log.String(), "applied again")
}

func mapsWith(base, other map[string][]byte, name string) map[string][]byte {
	out := maps.Clone(base)
	out[name] = other[name]
	return out
}

func TestASessionFileThatIsNoneIsMadeAgain(t *testing.T) {
	for name, session := range map[string]string{
		"a token that says which session it is": "two/three",
		"a token that was shortened":            strings.Repeat("long-", 50),
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, nil)
			turns := func() int {
				data, _ := os.ReadFile(filepath.Join(s.cfg.Store.SessionsDir, subjects.Name(session)+".json"))
				return bytes.Count(data, []byte(`"runId"`))
			}
			for run := range 2 {
				s.ask(s.prompt(session, strconv.Itoa(run), "write some code for me please"), time.Minute)
			}
			s.eventually("the turns", func() bool { return turns() == 2 })
			path := filepath.Join(s.cfg.Store.SessionsDir, subjects.Name(session))
			require.NoError(t, os.WriteFile(path+".json", []byte(`{"current": `), 0o600))
			s.ask(s.prompt(session, "latest", "write some code for me please"), time.Minute)
			s.eventually("the turns of before", func() bool { return turns() == 3 })
			aside, err := filepath.Glob(path + ".corrupt-*")
			require.NoError(t, err)
			require.Len(t, aside, 1)
		})
	}
}

// What stands beside a document is made again as well, and an export shows what
// can be read of it until then.
func TestWhatCannotBeReadBesideADocumentIsMadeAgain(t *testing.T) {
	spoilFile := func(suffix string) func(*testing.T, *system) {
		return func(t *testing.T, s *system) {
			t.Helper()
			path := filepath.Join(s.cfg.Store.SessionsDir, "long"+suffix)
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
			_, err := s.js.Publish(t.Context(), "$KV.OPENCLAW_EVENTS_SESSIONS.long.h.r1", []byte("r{"))
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, map[string]string{"HINT_STORE": tc.store, "HINT_HISTORY_LIMIT": "1"})
			sessions, err := openStore(t.Context(), s.cfg, s.bus.JS, nil, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			retired := func() string {
				turns, err := sessions.Retired(t.Context(), "long")
				require.NoError(t, err)
				return string(bytes.Join(rawLines(turns), []byte{'\n'}))
			}
			call := func(run, id string) {
				event, _ := json.Marshal(map[string]any{"runId": run, "toolName": "read", "toolCallId": id, "params": map[string]any{}, "result": "text"})
				ctx, _ := json.Marshal(payload.Context{RunID: run, AgentID: "main", SessionID: "long"})
				s.tell(payload.Envelope{Hook: subjects.HookAfterToolCall, Event: event, Ctx: ctx, TS: 1763680000000, ID: id})
			}
			call("late", "waits")
			for run := range 5 {
				s.ask(s.prompt("long", "r"+strconv.Itoa(run), "write some code for me please"), time.Minute)
			}
			s.eventually("turns that are retired", func() bool { return strings.Count(retired(), `"runId"`) == 3 })
			call("other", "r0's key is written before this")
			s.eventually("nothing on its way", func() bool {
				place, err := bus.Where(t.Context(), s.bus.JS, layoutOf(s.cfg))
				return err == nil && place.Applied == place.Last
			})
			want := retired()
			tc.spoil(t, s)
			var stdout, stderr bytes.Buffer
			t.Setenv("HINT_NATS_URL", s.bus.URL())
			t.Setenv("HINT_STORE", tc.store)
			require.Equal(t, exitOK, runContext(t.Context(), []string{"sessions", "export", t.TempDir()}, &stdout, &stderr), stderr.String())
			if name != "facts that wait" {
				require.Contains(t, stderr.String(), "corrupt")
			}
			require.Equal(t, "wrote 1 session", strings.SplitN(stdout.String(), " to", 2)[0])

			// One for a turn that was retired, and one that has no run.
			call("r1", "noticed")
			call("", "before all")
			s.eventually("it is made again", func() bool {
				losses, err := sessions.Lost(t.Context())
				return err == nil && len(losses) == 0 && strings.Count(s.log.String(), "setting it aside") == 1 &&
					strings.Count(retired(), `"runId"`) == 3 && strings.Contains(retired(), "noticed")
			})
			s.ask(s.prompt("long", "late", "write some code for me please"), time.Minute)
			s.eventually("what waited", func() bool {
				document, err := sessions.Get(t.Context(), "long")
				return err == nil && bytes.Contains(document, []byte("waits"))
			})
			for line := range strings.Lines(want) {
				if !strings.Contains(line, `"runId":"r1"`) {
					require.Contains(t, retired(), strings.TrimSpace(line))
				}
			}
			require.Equal(t, 1, strings.Count(s.log.String(), "setting it aside"))
		})
	}
}

func TestSessionsRebuild(t *testing.T) {
	s := start(t, nil)
	want := s.converse()
	path := filepath.Join(s.cfg.Store.SessionsDir, "one.json")
	for name, tc := range map[string]struct {
		damage func()
		args   []string
		out    string
		code   int
	}{
		"nothing was lost":       {func() {}, nil, "applied 10 events again\n", exitOK},
		"a file is gone":         {func() { require.NoError(t, os.Remove(path)) }, nil, "applied 10 events again\n", exitOK},
		"one session":            {func() { require.NoError(t, os.Remove(path)) }, []string{"one"}, "applied 5 events again\n", exitOK},
		"a file is no document":  {func() { require.NoError(t, os.WriteFile(path, []byte("]"), 0o600)) }, []string{"one"}, "applied 5 events again\n", exitOK},
		"a session nobody knows": {func() {}, []string{"none"}, "applied 0 events again\n", exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			tc.damage()
			var stdout, stderr bytes.Buffer
			t.Setenv("HINT_NATS_URL", s.bus.URL())
			require.Equal(t, tc.code, runContext(t.Context(), append([]string{"sessions", "rebuild"}, tc.args...), &stdout, &stderr), stderr.String())
			require.Equal(t, tc.out, stdout.String())
			require.True(t, s.same(want))
		})
	}
}

// A process that found sessions lost has died before it made them again.
func TestSessionsThatWereFoundLostAreMadeAgainByTheNextProcess(t *testing.T) {
	s := start(t, nil)
	want := s.converse()
	require.NoError(t, s.stop())
	sessions, err := openStore(t.Context(), s.cfg, nil, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, sessions.MarkLost(t.Context(), "one"))
	require.NoError(t, os.Remove(filepath.Join(s.cfg.Store.SessionsDir, "one.json")))
	again := startWith(t, s.cfg)
	again.eventually("the documents are back", func() bool { return again.same(want) })
	again.eventually("nothing is lost any more", func() bool {
		losses, err := sessions.Lost(t.Context())
		return err == nil && len(losses) == 0
	})
}

// refusing is a store that cannot write one session at first.
type refusing struct {
	rebuildable
	often atomic.Int32
}

func (r *refusing) Apply(ctx context.Context, facts []store.Fact) error {
	if facts[0].SessionID == "one" && r.often.Add(-1) >= 0 {
		return errors.New("not now")
	}
	return r.rebuildable.Apply(ctx, facts)
}

func TestASessionThatCannotBeMadeAgainAtOnceIsTriedAgain(t *testing.T) {
	s := start(t, nil)
	want := s.converse()
	sessions, err := file.Open(t.TempDir(), store.Options{HistoryLimit: s.cfg.Store.HistoryLimit})
	require.NoError(t, err)
	hindered := &refusing{rebuildable: sessions}
	hindered.often.Store(2)
	r := newRebuilder(s.bus.JS, layoutOf(s.cfg), slog.New(slog.DiscardHandler))
	ok, err := r.whole(t.Context(), hindered, false)
	require.NoError(t, err)
	require.True(t, ok)
	require.ErrorContains(t, r.single(t.Context(), hindered), "session one")
	losses, err := sessions.Lost(t.Context())
	require.NoError(t, err)
	require.Len(t, losses, 1)
	require.NoError(t, r.single(t.Context(), hindered))
	losses, err = sessions.Lost(t.Context())
	require.NoError(t, err)
	require.Empty(t, losses)
	got, err := os.ReadFile(filepath.Join(sessions.Dir(), "one.json"))
	require.NoError(t, err)
	require.Equal(t, string(want["one.json"]), string(got))
}

func TestTheSessionsOfAnotherSystemAreLeftAlone(t *testing.T) {
	s := start(t, nil)
	want := s.converse()
	s.eventually("the source", func() bool {
		_, err := os.Stat(filepath.Join(s.cfg.Store.SessionsDir, ".source"))
		return err == nil
	})
	cfg := settle(t, map[string]string{"HINT_SESSIONS_DIR": s.cfg.Store.SessionsDir, "HINT_SUBJECT_PREFIX": "other", "HINT_STREAM": "OTHER_EVENTS"})
	err := serve(t.Context(), cfg, slog.New(slog.DiscardHandler), new(slog.LevelVar), nil)
	require.ErrorIs(t, err, errOthersSessions)
	require.ErrorContains(t, err, "OPENCLAW_EVENTS, not OTHER_EVENTS")
	require.True(t, s.same(want))
}

// An event that waits keeps all that were applied after it from counting as
// applied up to there.
func TestALostStoreIsMadeAgainBehindAnEventThatWaits(t *testing.T) {
	b, err := bus.Open(t.Context(), bus.Options{Embedded: bus.EmbeddedOptions{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer b.Close()
	layout := layoutOf(settle(t, nil))
	p, err := bus.Provision(t.Context(), b.JS, layout)
	require.NoError(t, err)
	for _, session := range []string{"waits", "applied"} {
		body, err := json.Marshal(map[string]any{
			"hook": "after_tool_call", "id": session, "ts": 1, "event": map[string]any{"toolName": "read", "toolCallId": "c"},
			"ctx": map[string]any{"sessionId": session, "runId": "r"},
		})
		require.NoError(t, err)
		_, err = b.JS.Publish(t.Context(), layout.Prefix.Event("after_tool_call", "main", session), body)
		require.NoError(t, err)
	}
	got, err := p.Durable.Fetch(2)
	require.NoError(t, err)
	<-got.Messages()
	require.NoError(t, (<-got.Messages()).DoubleAck(t.Context()))

	sessions := &applying{}
	sessions.rebuildable, err = file.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	r := newRebuilder(b.JS, layout, slog.New(slog.DiscardHandler))
	require.NoError(t, r.begin(t.Context(), sessions), "it is too late to begin")
	require.Empty(t, sessions.got)
	ok, err := r.whole(t.Context(), sessions, false)
	require.NoError(t, err)
	require.True(t, ok)
	require.ElementsMatch(t, []string{"waits", "applied"}, sessions.got)
	ok, err = r.whole(t.Context(), sessions, false)
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, sessions.got, 2, "it is whole now")
}

func TestANewStoreIsWhole(t *testing.T) {
	b, err := bus.Open(t.Context(), bus.Options{Embedded: bus.EmbeddedOptions{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer b.Close()
	layout := layoutOf(settle(t, nil))
	_, err = bus.Provision(t.Context(), b.JS, layout)
	require.NoError(t, err)
	sessions, err := file.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	require.NoError(t, newRebuilder(b.JS, layout, slog.New(slog.DiscardHandler)).begin(t.Context(), sessions))
	source, err := sessions.Source(t.Context())
	require.NoError(t, err)
	require.Equal(t, layout.Stream, source.Stream)
}

// applying notes the sessions that facts are applied to.
type applying struct {
	rebuildable
	mu  sync.Mutex
	got []string
}

func (a *applying) Apply(ctx context.Context, facts []store.Fact) error {
	a.mu.Lock()
	a.got = append(a.got, facts[0].Session())
	a.mu.Unlock()
	return a.rebuildable.Apply(ctx, facts)
}
