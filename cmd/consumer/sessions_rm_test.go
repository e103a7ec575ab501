package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/internal/events"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// published returns the number of events on a subject, in all streams.
func published(t *testing.T, s *system, stream, filter string) (n int) {
	t.Helper()
	found, err := s.JS.Stream(t.Context(), stream)
	require.NoError(t, err)
	info, err := found.Info(t.Context(), jetstream.WithSubjectFilter(filter))
	require.NoError(t, err)
	for _, events := range info.State.Subjects {
		n += int(events)
	}
	return n
}

// callOf is a tool call with the names of a context.
func callOf(id string, c payload.Context) payload.Envelope {
	event, _ := json.Marshal(map[string]any{"toolName": "read", "toolCallId": id, "params": map[string]any{}, "result": "text"})
	ctx, _ := json.Marshal(c)
	return payload.Envelope{Hook: subjects.HookAfterToolCall, Event: event, Ctx: ctx, TS: 1763680000000, ID: id}
}

func TestSessionsRm(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sessionsRm(t, kind)
		})
	}
}

func sessionsRm(t *testing.T, kind string) {
	t.Helper()
	s := start(t, map[string]string{"HINT_STORE": kind, "HINT_HISTORY_LIMIT": "1"})
	sessions, err := app.OpenStore(t.Context(), s.Config, s.Bus.JS, nil, nil)
	require.NoError(t, err)
	const key = "agent:main:telegram:direct:one"
	for _, session := range []string{"one", "two/three"} {
		for _, run := range []string{"r1", "r2", "r3"} {
			s.Ask(s.Prompt(session, run, "write some code for me please"), time.Minute)
		}
		_, err := s.JS.Publish(t.Context(), subjects.Prefix("openclaw").Event(subjects.HookAgentEnd, "main", session), []byte("poison"))
		require.NoError(t, err)
	}
	// Events that carry the key alone, and one on the key's subject whose payload
	// names the session.
	s.Tell(callOf("by-key", payload.Context{AgentID: "main", SessionKey: key}))
	body, err := json.Marshal(callOf("under-key", payload.Context{AgentID: "main", SessionID: "one", SessionKey: key}))
	require.NoError(t, err)
	byKey := subjects.Prefix("openclaw").Event(subjects.HookAfterToolCall, "main", key)
	_, err = s.JS.Publish(t.Context(), byKey, body, jetstream.WithMsgID("under-key"))
	require.NoError(t, err)
	letters := 2
	settled := func() bool {
		place, err := events.Where(t.Context(), s.Bus.JS, app.Layout(s.Config))
		return err == nil && place.Applied == place.Last && published(t, s, "OPENCLAW_EVENTS_DLQ", ">") == letters
	}
	s.Eventually("all events applied", settled)
	letters = 1 // once one of the sessions is removed

	env := s.env.with("HINT_NATS_URL", s.Bus.URL())
	run := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = env.run(t.Context(), append([]string{"sessions"}, args...), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	other, err := sessions.Get(t.Context(), "two/three")
	require.NoError(t, err)

	code, out, errs := run("rm", "one")
	require.Equal(t, exitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errs, "--yes")
	require.Equal(t, 6, published(t, s, "OPENCLAW_EVENTS", "openclaw.event.*.*.one")+published(t, s, "OPENCLAW_EVENTS", byKey), "nothing was changed")
	code, out, errs = run("rm", "--yes", "nobody")
	require.Equal(t, exitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errs, `no session "nobody"`)

	code, out, errs = run("rm", "--yes", "one", "nobody")
	require.Equal(t, exitFailed, code, "one of them is unknown")
	require.Contains(t, errs, `no session "nobody"`)
	require.Contains(t, out, "removed one: ")
	require.Contains(t, out, "5 events, 1 dead letter\n")
	require.Contains(t, out, "removed "+key+": ")
	if kind == "file" {
		require.Contains(t, out, "one.history.jsonl, one.pending, one.json, ")
		left, err := filepath.Glob(filepath.Join(s.Config.Store.SessionsDir, "*one*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	gone := func() {
		t.Helper()
		_, err := sessions.Get(t.Context(), "one")
		require.ErrorIs(t, err, store.ErrNotFound)
		retired, err := sessions.Retired(t.Context(), "one")
		require.NoError(t, err)
		require.Empty(t, retired)
		require.Zero(t, published(t, s, "OPENCLAW_EVENTS", "openclaw.event.*.*.one"))
		require.Zero(t, published(t, s, "OPENCLAW_EVENTS", byKey))
		still, err := sessions.Get(t.Context(), "two/three")
		require.NoError(t, err)
		require.JSONEq(t, string(other), string(still))
		require.Equal(t, 1, published(t, s, "OPENCLAW_EVENTS_DLQ", ">"), "that of the other")
	}
	gone()
	code, _, errs = run("rebuild")
	require.Zero(t, code, errs)
	gone()
	code, _, errs = run("rm", "-y", "one")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, `no session "one"`)

	// An event that tells late of a request without an answer does not bring a run
	// back, nor does a rebuild.
	late := s.Prompt("one", "r2", "write some code for me please")
	late.ID, late.TS = "late", 1763680000000
	s.Tell(callOf("late-call", payload.Context{RunID: "r2", AgentID: "main", SessionID: "one"}))
	s.Tell(late)
	s.Eventually("the late events applied", settled)
	for range 2 {
		_, err = sessions.Get(t.Context(), "one")
		require.ErrorIs(t, err, store.ErrNotFound)
		code, _, errs = run("rebuild")
		require.Zero(t, code, errs)
	}

	// A person who asks again in a removed run asks a new question.
	again := s.Ask(s.Prompt("one", "r3", "remind me at nine to call mum"), time.Minute)
	require.NotEmpty(t, again.Data)
	require.NotEqual(t, payload.SourceCache, again.Header.Get(subjects.HeaderSource))
	s.Eventually("its turn", func() bool {
		document, err := sessions.Get(t.Context(), "one")
		return err == nil && bytes.Contains(document, []byte("call mum")) && !bytes.Contains(document, []byte("some code"))
	})
	code, _, errs = run("rm", "-y", "one")
	require.Zero(t, code, errs)

	// The next message begins it anew, without what was before.
	s.Ask(s.Prompt("one", "r9", "write some code for me please"), time.Minute)
	s.Eventually("the new turn", func() bool {
		document, err := sessions.Get(t.Context(), "one")
		return err == nil && bytes.Contains(document, []byte(`"r9"`)) && !bytes.Contains(document, []byte(`"r3"`))
	})
}

// A key stands for all of its sessions, also for those whose documents are gone.
func TestSessionsByKey(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const key = "agent:main:telegram:direct:one"
	ask := func(session, key string) {
		name := cmp.Or(session, key)
		p := s.Prompt(session, "r-"+session, "write some code for me please")
		ctx, err := json.Marshal(payload.Context{RunID: "r-" + session, AgentID: "main", SessionID: session, SessionKey: key, Trigger: "user"})
		require.NoError(t, err)
		p.Ctx = ctx
		s.Ask(p, time.Minute)
		s.Eventually("the turn of "+name, func() bool { return s.Document(name) != nil })
	}
	ask("older", key)
	ask("newer", key)
	ask("other", "agent:main:telegram:direct:2")
	env := s.env.with("HINT_NATS_URL", s.Bus.URL())
	var stdout, stderr bytes.Buffer
	want := s.Files()
	for _, session := range []string{"older", "newer"} {
		require.NoError(t, os.Remove(filepath.Join(s.Config.Store.SessionsDir, session+".json")))
	}
	require.Zero(t, env.run(t.Context(), []string{"sessions", "rebuild", key}, &stdout, &stderr), stderr.String())
	require.Equal(t, "applied 2 events again\n", stdout.String())
	require.True(t, s.Same(want))

	stdout.Reset()
	require.Zero(t, env.run(t.Context(), []string{"sessions", "rm", "--yes", key}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "removed older: older.json, 1 event, ")
	require.Contains(t, stdout.String(), "removed newer: newer.json, 1 event, ")
	require.Nil(t, s.Document("older"))
	require.Nil(t, s.Document("newer"))
	require.NotNil(t, s.Document("other"))

	// A script's unset variable names no session, not those without a key or an id.
	const keyOnly = "agent:main:telegram:direct:3"
	ask("", keyOnly)
	stdout.Reset()
	stderr.Reset()
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"sessions", "rm", "--yes", ""}, &stdout, &stderr))
	require.Contains(t, stderr.String(), `no session ""`)
	require.Empty(t, stdout.String())
	require.NotNil(t, s.Document(keyOnly))
	require.NotNil(t, s.Document("other"))
}

// The events must not go while the document stays in another system's directory.
func TestSessionsRmNeedsTheStoreOfTheSystem(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Converse()
	for name, settings := range map[string]map[string]string{
		"another directory": {"HINT_SESSIONS_DIR": filepath.Join(t.TempDir(), "sessions")},
		"another store":     {"HINT_STORE": "kv"},
	} {
		t.Run(name, func(t *testing.T) {
			settings["HINT_NATS_URL"] = s.Bus.URL()
			env := settle(t, settings)
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitFailed, env.run(t.Context(), []string{"sessions", "rm", "--yes", "one"}, &stdout, &stderr))
			require.Contains(t, stderr.String(), "session store of another system")
			require.Equal(t, 5, published(t, s, "OPENCLAW_EVENTS", "openclaw.event.*.*.one"))
			require.NoDirExists(t, env.config(t).Store.SessionsDir)
		})
	}
}

func TestSessionsRmNamesTheMissingRight(t *testing.T) {
	at := newSite(t)
	data := t.TempDir()
	settings := map[string]string{"HINT_DATA_DIR": data}
	code, _, stderr := at.command("operator", settings, "stream", "apply", "--yes")
	require.Zero(t, code, stderr)
	env := settle(t, at.settings("consumer", settings))
	cfg := env.config(t)
	s := launch(t, env)
	s.As(at.Connect(t, at.ns, "gateway"))
	s.Ask(s.Prompt("s1", "r1", "Hello there."), time.Minute)
	s.Eventually("the turn", func() bool { return s.Document("s1") != nil })

	code, stdout, stderr := at.command("consumer", settings, "sessions", "rm", "--yes", "s1")
	require.Equal(t, exitFailed, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "permission denied")
	require.Contains(t, stderr, "session s1 is not gone (nothing of it is removed yet); run consumer sessions rm again for it: ")
	require.FileExists(t, filepath.Join(cfg.Store.SessionsDir, "s1.json"), "nothing was removed")
	code, stdout, stderr = at.command("operator", settings, "sessions", "rm", "--yes", "s1")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "removed s1: s1.json, 1 event")
	_, err := os.Stat(filepath.Join(cfg.Store.SessionsDir, "s1.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSessionsRmTellsWhenConsumersWereNotTold(t *testing.T) {
	at := siteOf(t, map[string]string{`"openclaw.knowhub.>", "openclaw.runs", "$JS.API.>"`: `"openclaw.knowhub.>", "$JS.API.>"`})
	settings := map[string]string{"HINT_DATA_DIR": t.TempDir()}
	code, _, stderr := at.command("operator", settings, "stream", "apply", "--yes")
	require.Zero(t, code, stderr)
	s := launch(t, settle(t, at.settings("consumer", settings)))
	s.As(at.Connect(t, at.ns, "gateway"))
	s.Ask(s.Prompt("s1", "r1", "Hello there."), time.Minute)
	s.Eventually("the turn", func() bool { return s.Document("s1") != nil })
	code, stdout, stderr := at.command("operator", settings, "sessions", "rm", "--yes", "s1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stdout, "removed s1: s1.json, 1 event")
	require.Contains(t, stderr, "running consumers still remember")
	require.Contains(t, stderr, "openclaw.runs")
}
