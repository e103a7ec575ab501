//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSessionsTurns(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_HISTORY_LIMIT": "1"})
	s.serve(1, 1)
	g := s.gateway()
	var want []string
	for i := range 4 {
		for _, session := range []string{"one", "two"} {
			run := fmt.Sprint(session, i)
			g.ask(turn{session: session, run: run, prompt: "remind me to water the plants at nine", ts: 1763680000000 + int64(1000*len(want))})
			s.showsRun(session, run, visible())
			want = append(want, run)
		}
	}
	lines := func(args ...string) (runs []string, raw string) {
		t.Helper()
		r := s.run(append([]string{"sessions", "turns", "--jsonl"}, args...)...)
		require.Zero(t, r.code, r.stderr)
		for line := range strings.Lines(r.stdout) {
			var l struct {
				Text, Intent, Session, RunID, Source string
				Confidence                           float64
				TS                                   int64
			}
			require.NoError(t, json.Unmarshal([]byte(line), &l), line)
			require.Equal(t, "remind me to water the plants at nine", l.Text)
			require.NotEmpty(t, l.Intent)
			require.True(t, strings.HasPrefix(l.RunID, l.Session), line)
			require.Positive(t, l.TS)
			runs = append(runs, l.RunID)
		}
		return runs, r.stdout
	}
	got, raw := lines()
	require.Equal(t, want, got, "of documents and histories, the newest last")
	data := filepath.Join(s.dir, "turns.jsonl")
	write(t, data, raw)
	r := s.run("eval", "--data", data, "--json")
	require.Zero(t, r.code, r.stderr)
	var e struct {
		N        int
		Accuracy float64
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &e))
	require.Equal(t, len(want), e.N)
	require.InDelta(t, 1, e.Accuracy, 1e-9, "the classifier answers as it did")

	got, _ = lines("--since", "1h")
	require.Empty(t, got)
	got, _ = lines("--since", "2025-11-20T23:06:46Z")
	require.Equal(t, want[6:], got)
	table := s.run("sessions", "turns", "--below", "1")
	require.Zero(t, table.code, table.stderr)
	require.Contains(t, table.stdout, "INTENT")
	require.Contains(t, table.stdout, "water the plants")
}

func TestSessionsRm(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, settings{"HINT_STORE": kind, "HINT_HISTORY_LIMIT": "1"})
			processes := s.serve(2, 2)
			g := s.gateway()
			holds := func(session string) bool { return s.run("sessions", "show", session).code == 0 }
			for _, session := range []string{"one", "two"} {
				for i := range 3 {
					run := fmt.Sprint(session, i)
					g.ask(turn{session: session, run: run, prompt: "Hello there, secret of " + session})
					g.publish(toolCall(session, run, "call"+run, "read", time.Now().UnixMilli()))
				}
			}
			g.drained()
			r := s.run("sessions", "rm", "one")
			require.Equal(t, 1, r.code)
			require.Contains(t, r.stderr, "--yes")
			require.True(t, holds("one"))
			r = s.run("sessions", "rm", "--yes", "nobody")
			require.Equal(t, 1, r.code)
			require.Contains(t, r.stderr, "nobody")
			r = s.run("sessions", "rm", "--yes", "one")
			require.Zero(t, r.code, r.stderr)
			require.Contains(t, r.stdout, "removed one: ")
			require.Contains(t, r.stdout, "6 events")
			require.False(t, holds("one"))
			require.True(t, holds("two"))
			require.Zero(t, s.run("sessions", "rebuild").code)
			require.False(t, holds("one"), "a rebuild does not bring it back")

			// Turns that are being recorded at that moment.
			for i := range 5 {
				run := fmt.Sprint("recorded", i)
				g.ask(turn{session: "busy", run: run, prompt: "Hello there."})
				g.publish(toolCall("busy", run, "call"+run, "read", time.Now().UnixMilli()))
				r := s.run("sessions", "rm", "--yes", "busy")
				require.Zero(t, r.code, r.stderr)
				require.Contains(t, r.stdout, "2 events")
				g.drained()
				require.False(t, holds("busy"))
			}
			for _, p := range processes {
				p.stop()
			}
			r = s.run("sessions", "rm", "--yes", "two")
			require.Zero(t, r.code, "without a consumer as well: %s", r.stderr)
			require.False(t, holds("two"))
			require.Zero(t, s.run("sessions", "rebuild").code)
			if kind == "file" {
				require.NoError(t, filepath.WalkDir(s.sessionsDir(), func(path string, d fs.DirEntry, err error) error {
					if err != nil || !d.Type().IsRegular() {
						return err
					}
					data, err := os.ReadFile(path)
					require.NotContains(t, string(data), "secret", path)
					return err
				}))
			}
			list := s.run("sessions", "ls", "--json")
			require.JSONEq(t, "[]", list.stdout)
		})
	}
}
