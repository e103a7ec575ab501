//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// beside returns the system with other settings and the same server.
func (s *system) beside(given settings) *system {
	env := maps.Clone(s.env)
	maps.Copy(env, given)
	return &system{t: s.t, dir: s.dir, env: env}
}

// lastLines returns the last line of each run in a history file.
func lastLines(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	out := map[string]string{}
	for line := range bytes.Lines(data) {
		var turn documentTurn
		require.NoError(t, json.Unmarshal(line, &turn), "%s", line)
		out[turn.RunID] = string(line)
	}
	return out
}

// copyEvents tells a system all events that a stream holds, and waits until they
// are applied.
func copyEvents(t *testing.T, from jetstream.JetStream, to *gateway) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	stream, err := from.Stream(ctx, "OPENCLAW_EVENTS")
	require.NoError(t, err)
	events, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	for left := stream.CachedInfo().State.Msgs; left > 0; left-- {
		m, err := events.Next(jetstream.FetchContext(ctx))
		require.NoError(t, err)
		to.store(&nats.Msg{Subject: m.Subject(), Data: m.Data(), Header: m.Headers()})
	}
	to.drained()
}

func TestSessionsInAKeyValueBucket(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_STORE": "kv", "HINT_HISTORY_LIMIT": "0"})
	s.serve(1, 1) // with the server
	other := s.serve(1, 2)[0]
	g := s.gateway()
	l := newLoad("kv", 20)
	l.run(t, g, other.kill)
	g.drained() // events of the killed one go to the other
	require.Empty(t, s.sessions(), "no files")

	// Another system makes files of the same events.
	files := newSystem(t, settings{"HINT_HISTORY_LIMIT": "0"})
	files.serve(1, 1)
	copyEvents(t, g.js, files.gateway())

	// The address of the server is all that another host needs.
	far := s.beside(settings{"HINT_NATS_URL": s.url(), "HINT_DATA_DIR": filepath.Join(s.dir, "far")})
	delete(far.env, "HINT_NATS_PORT")
	r := far.run("sessions", "export", filepath.Join(s.dir, "export"))
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "wrote 20 sessions to "+filepath.Join(s.dir, "export")+", 20 of them with a history\n", r.stdout)
	var list []struct{ SessionID string }
	r = far.run("sessions", "ls", "--json")
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &list), r.stderr)
	require.Len(t, list, 20)

	for i, tr := range l.turns {
		name := token(tr.session)
		want, err := os.ReadFile(files.sessionFile(tr.session))
		require.NoError(t, err)
		if i < 5 {
			r := far.run("sessions", "show", "--", tr.session)
			require.Zero(t, r.code, r.stderr)
			require.JSONEq(t, string(want), r.stdout)
		}
		got, err := os.ReadFile(filepath.Join(s.dir, "export", name+".json"))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.Equal(t, lastLines(t, filepath.Join(files.sessionsDir(), name+".history.jsonl")), lastLines(t, filepath.Join(s.dir, "export", name+".history.jsonl")))

		var d document
		require.NoError(t, json.Unmarshal(got, &d))
		require.Equal(t, tr.session+"-r1", d.Current.RunID)
		require.Equal(t, l.calls[d.Current.RunID], d.Current.toolCallIDs(), "every tool call once and in order")
	}

	// A file store continues with the exported files.
	exported := s.beside(settings{"HINT_STORE": "file", "HINT_SESSIONS_DIR": filepath.Join(s.dir, "export")})
	r = exported.run("sessions", "show", l.turns[0].session)
	require.Zero(t, r.code, r.stderr)
	r = exported.run("sessions", "export", filepath.Join(s.dir, "export"))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "is the session directory itself")
	r = far.run("sessions", "show", "nobody")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "bucket OPENCLAW_EVENTS_SESSIONS")
}

func TestAskWithoutASystemStoresItsTurnInTheBucket(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_STORE": "kv"})
	r := s.run("ask", "--session", "alone", "Hello there.")
	require.Zero(t, r.code, r.stderr)
	r = s.run("sessions", "show", "alone")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "Hello there.")
}
