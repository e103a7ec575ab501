//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// planned is a line of `stream plan --json`.
type planned struct {
	Kind, Name  string
	Missing     bool
	Differences []struct {
		Field, From, To, Loss string
		Recreate              bool
	}
}

func (s *system) plan() []planned {
	s.t.Helper()
	r := s.run("stream", "plan", "--json")
	require.Zero(s.t, r.code, r.stderr)
	var out []planned
	require.NoError(s.t, json.Unmarshal([]byte(r.stdout), &out), r.stdout)
	return out
}

func TestStreamPlanAndApply(t *testing.T) {
	t.Parallel()
	s, e := newExternalSystem(t)
	e.start()
	g := s.gateway()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()

	require.Equal(t, 3, s.run("stream", "plan", "--exit-code").code)
	for _, target := range s.plan() {
		require.True(t, target.Missing, target.Name)
	}
	_, err := g.js.Stream(ctx, "OPENCLAW_EVENTS")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "a plan creates nothing")

	r := s.run("stream", "apply")
	require.Equal(t, 1, r.code, "there is no terminal to confirm on")
	require.Contains(t, r.stderr, "--yes")
	r = s.run("stream", "apply", "--yes")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "created stream OPENCLAW_EVENTS")
	require.Zero(t, s.run("stream", "plan", "--exit-code").code)
	p := s.serve(1, 1)[0]
	require.NotContains(t, p.stderr.String(), "stream plan", "no warning")
	p.stop()

	// Other settings: a start changes nothing that exists, apply does.
	s.env["HINT_STREAM_MAX_AGE"], s.env["HINT_STREAM_MAX_BYTES"] = "24h", "1KiB"
	for range 10 {
		g.publish(toolCall("s1", "r1", unique("call"), "read", time.Now().UnixMilli()))
	}
	s.serve(1, 1)[0].stop()
	plan := s.plan()
	require.Equal(t, "OPENCLAW_EVENTS", plan[0].Name)
	require.Len(t, plan[0].Differences, 2)
	require.NotEmpty(t, plan[0].Differences[1].Loss)
	r = s.run("stream", "apply", "--yes")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "data loss")
	stream, err := g.js.Stream(ctx, "OPENCLAW_EVENTS")
	require.NoError(t, err)
	require.EqualValues(t, 10, stream.CachedInfo().State.Msgs)
	r = s.run("stream", "apply", "--yes", "--force")
	require.Zero(t, r.code, r.stderr)
	info, err := stream.Info(ctx)
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, info.Config.MaxAge)
	require.EqualValues(t, 1024, info.Config.MaxBytes)
	require.Less(t, info.State.Msgs, uint64(10))
	require.Zero(t, s.run("stream", "plan", "--exit-code").code)
}

func TestUnusableDurableStopsTheStart(t *testing.T) {
	t.Parallel()
	s, e := newExternalSystem(t)
	e.start()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	stream, err := s.gateway().js.CreateStream(ctx, jetstream.StreamConfig{Name: "OPENCLAW_EVENTS", Subjects: []string{"openclaw.event.>"}})
	require.NoError(t, err)
	_, err = stream.CreatePushConsumer(ctx, jetstream.ConsumerConfig{Durable: "intent-hint", DeliverSubject: "x", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	p := s.start()
	require.Equal(t, 1, p.wait(patient))
	require.Contains(t, p.stderr.String(), "durable intent-hint: unusable configuration")
	r := s.run("stream", "apply", "--yes")
	require.Equal(t, 1, r.code)
	require.Regexp(t, "durable intent-hint: changing .*: recreation required", r.stderr)
}

func TestReplayOfDeadLetters(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	s.serve(2, 2)
	g := s.gateway()
	now := time.Now().UnixMilli()
	g.ask(turn{session: "s1", run: "r1", prompt: "Hello there.", ts: now})
	s.showsRun("s1", "r1", visible())

	// Two events that an earlier version could not decode, one that is still
	// invalid, and one from another stream.
	bury := func(hook, subject, id string, body []byte) {
		t.Helper()
		m := nats.NewMsg("openclaw.dlq." + hook)
		m.Data = body
		m.Header.Set("Dlq-Reason", "a reason of old")
		m.Header.Set("Dlq-Subject", subject)
		if id != "" {
			m.Header.Set("Dlq-Msg-Id", id)
		}
		g.store(m)
	}
	call := func(id string) (string, []byte) {
		m := toolCall("s1", "r1", id, "read", now+1).message()
		return m.Subject, m.Data
	}
	subject, first := call("call-1")
	bury("after_tool_call", subject, "tool-call-1", first)
	_, second := call("call-2")
	second = []byte(strings.Replace(string(second), `"id":"tool-call-2",`, "", 1)) // its id is only in the header
	require.NotContains(t, string(second), `"id":"tool`)
	bury("after_tool_call", subject, "tool-call-2", second)
	bury("agent_end", "openclaw.event.agent_end.main.s1", "bad", []byte("not JSON"))
	bury("agent_end", "openclaw.request.before_prompt_build.main", "odd", first)

	r := s.run("dlq", "replay", "--dry-run")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 3, strings.Count(r.stdout, "replay to "), r.stdout)
	require.Equal(t, 1, strings.Count(r.stdout, "leave: "), r.stdout)

	r = s.run("dlq", "replay", "--seq", "1", "--seq", "77")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stdout, "replayed 1 of 2")
	require.Contains(t, r.stderr, "77")
	s.shows("s1", visible(), "the first call", func(d document) bool { return len(d.Current.ToolCalls) == 1 })

	r = s.run("dlq", "replay", "--hook", "after_tool_call")
	require.Zero(t, r.code, r.stderr)
	s.shows("s1", visible(), "the second call", func(d document) bool { return len(d.Current.ToolCalls) == 2 })
	// The same event again, with its original id: it counts once.
	again := nats.NewMsg(subject)
	again.Data = second
	again.Header.Set("Nats-Msg-Id", "tool-call-2")
	g.store(again)
	g.drained()

	r = s.run("dlq", "replay", "--yes")
	require.Equal(t, 1, r.code, "one dead letter is left")
	require.Contains(t, r.stdout, "replayed 1 of 2")
	require.Contains(t, r.stderr, "dead letter 4 not replayed")
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	stream, err := g.js.Stream(ctx, "OPENCLAW_EVENTS_DLQ")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		m, err := stream.GetMsg(ctx, 5)
		return err == nil && string(m.Data) == "not JSON" && m.Header.Get("Dlq-Msg-Id") == "bad" && m.Header.Get("Dlq-Reason") != "a reason of old"
	}, patient, tick, "what failed again is a new letter with its new reason")
	require.Len(t, s.shows("s1", visible(), "two calls", func(document) bool { return true }).Current.ToolCalls, 2)

	require.Equal(t, 2, s.run("dlq", "rm", "--yes").code, "it needs --seq or --all")
	require.Equal(t, 2, s.run("dlq", "rm", "--all", "--seq", "4").code)
	r = s.run("dlq", "rm", "--all")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "--yes")
	r = s.run("dlq", "rm", "--seq", "4,5", "--yes")
	require.Zero(t, r.code, r.stderr)
	r = s.run("dlq", "replay")
	require.Zero(t, r.code)
	require.Contains(t, r.stderr, "no dead letters")
}
