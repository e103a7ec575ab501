package app_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/subjects"
)

// process is a service as consumers of another version have it. It answers no request.
func (s *system) process(fold string) micro.Service {
	s.t.Helper()
	metadata := map[string]string{"prefix": s.Config.Bus.Prefix, "stream": s.Config.Bus.Stream}
	if fold != "" {
		metadata["fold"] = fold
	}
	svc, err := micro.AddService(s.Gateway, micro.Config{Name: subjects.ServiceName, Version: "1.0.0", Metadata: metadata})
	require.NoError(s.t, err)
	return svc
}

// raw is the file of session s.
func (s *system) raw() []byte { return s.Files()["s.json"] }

func (s *system) pending() uint64 {
	s.t.Helper()
	durable, err := s.JS.Consumer(s.t.Context(), s.Config.Bus.Stream, s.Config.Bus.QueueGroup)
	require.NoError(s.t, err)
	return durable.CachedInfo().NumPending
}

// about is an event of a run of session s.
func about(hook, run, id string, event map[string]any) payload.Envelope {
	body, _ := json.Marshal(event)
	ctx, _ := json.Marshal(payload.Context{RunID: run, AgentID: "main", SessionID: "s", SessionKey: "agent:main:telegram:direct:s"})
	return payload.Envelope{Hook: hook, Event: body, Ctx: ctx, TS: 1763680001000, ID: id}
}

func TestEventsAreLeftToANewerVersion(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Ask(s.Prompt("s", "r", "write some code for me please"), time.Minute)
	s.Eventually("the turn", func() bool { return s.raw() != nil })
	newer := s.process("1000")
	s.Eventually("events are left", func() bool { return bytes.Contains([]byte(s.Log.String()), []byte("events left")) })
	for _, id := range []string{"a", "b", "c"} {
		s.Tell(about(subjects.HookAfterToolCall, "r", id, map[string]any{"toolName": "read", "toolCallId": id}))
	}
	// A newer one takes them, and requests are answered all the same.
	s.Ask(s.Prompt("s", "r2", "write some code for me please"), time.Minute)
	s.Eventually("the events wait", func() bool { return s.pending() == 4 })
	durable, err := s.JS.Consumer(t.Context(), s.Config.Bus.Stream, s.Config.Bus.QueueGroup)
	require.NoError(t, err)
	m, err := durable.Next(jetstream.FetchMaxWait(time.Minute))
	require.NoError(t, err)
	require.NoError(t, m.Nak())

	require.NoError(t, newer.Stop())
	s.Eventually("they are taken", func() bool {
		return s.pending() == 0 && bytes.Count(s.raw(), []byte(`"toolCallId"`)) == 3 && bytes.Contains(s.raw(), []byte(`"r2"`))
	})
}

// A process of an earlier version rewrites a document without what it does not know.
func TestSessionsOfAnEarlierVersionAreCompleted(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Ask(s.Prompt("s", "r", "write some code for me please"), time.Minute)
	s.Tell(about(subjects.HookModelCallEnded, "r", "m", map[string]any{"provider": "p", "model": "m"}))
	used := func() bool { return bytes.Contains(s.raw(), []byte(`"agentUse":[{`)) }
	s.Eventually("what the agent used", used)

	older := s.process("")
	s.Eventually("the earlier version is seen", func() bool { return bytes.Contains([]byte(s.Log.String()), []byte("earlier version")) })
	path := filepath.Join(s.Config.Store.SessionsDir, "s.json")
	drop := func() {
		var d map[string]any
		require.NoError(t, json.Unmarshal(s.raw(), &d))
		current, ok := d["current"].(map[string]any)
		require.True(t, ok)
		delete(current, "agentUse")
		data, err := json.Marshal(d)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+".new", data, 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	drop()
	s.Tell(about(subjects.HookAfterToolCall, "r", "a", map[string]any{"toolName": "read", "toolCallId": "a"}))
	s.Eventually("it is complete while both run", func() bool { return used() && bytes.Contains(s.raw(), []byte(`"toolCallId":"a"`)) })

	// What it writes last, before it ends.
	drop()
	require.NoError(t, older.Stop())
	s.Eventually("it is complete afterwards", used)
}
