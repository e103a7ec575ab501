package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
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
	s := start(t, nil)
	s.converse()
	path := filepath.Join(s.cfg.Store.SessionsDir, "two=2Fthree.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"current": `), 0o600))
	s.ask(s.prompt("two/three", "latest", "write some code for me please"), time.Minute)
	s.eventually("the turns of before", func() bool {
		data, err := os.ReadFile(path)
		return err == nil && bytes.Count(data, []byte(`"runId"`)) == 6
	})
	aside, err := filepath.Glob(path[:len(path)-len(".json")] + ".corrupt-*")
	require.NoError(t, err)
	require.Len(t, aside, 1)
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
	sessions, err := file.Open(t.TempDir(), file.Options{HistoryLimit: s.cfg.Store.HistoryLimit})
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
