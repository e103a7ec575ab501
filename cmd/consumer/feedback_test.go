package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/classify/evaluate"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

// commands runs commands against a running system.
func (s *system) command(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	env := s.env.with("HINT_NATS_URL", s.Bus.URL())
	var out, errs bytes.Buffer
	code = env.run(s.t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			feedbackOn(t, kind)
		})
	}
}

func feedbackOn(t *testing.T, kind string) {
	t.Helper()
	s := start(t, map[string]string{"HINT_STORE": kind, "HINT_HISTORY_LIMIT": "0", "HINT_INTENTS_DIR": apptest.WriteIntents(t)})
	sessions, err := app.OpenStore(t.Context(), s.Config, s.Bus.JS, nil, nil)
	require.NoError(t, err)
	for _, ask := range []struct{ session, run, text string }{
		{"one", "r1", "will it rain tomorrow"}, {"one", "r2", "what is my bank balance"}, {"two/three", "r2", "weather forecast for sunday"}, {"two/three", "r3", "will it rain tomorrow"},
	} {
		s.Ask(s.Prompt(ask.session, ask.run, ask.text), time.Minute)
	}
	turns := func() map[string]*store.Turn {
		out := map[string]*store.Turn{}
		for _, session := range []string{"one", "two/three"} {
			require.NoError(t, record.Each(t.Context(), sessions, session, func(turn *store.Turn) { out[session+" "+turn.RunID] = turn }))
		}
		return out
	}
	s.Eventually("all turns", func() bool { return len(turns()) == 4 })

	for _, row := range []struct {
		name  string
		args  []string
		turn  string
		want  store.Feedback
		says  string
		notes string
	}{
		{
			"wrong, with what is right",
			[]string{"r3", "wrong", "--intent", "money", "--by", "ada"},
			"two/three r3",
			store.Feedback{Verdict: "wrong", Intent: "MONEY", By: "ada"},
			"marked run r3 of session two/three: wrong (MONEY)\n", "",
		},
		{"right, of a turn that left the document", []string{"r1", "right"}, "one r1", store.Feedback{Verdict: "right"}, "marked run r1 of session one: right\n", ""},
		{"a run of two sessions", []string{"r2", "wrong", "--session", "two/three", "--agent", "ops"}, "two/three r2", store.Feedback{Verdict: "wrong"}, "marked run r2 of session two/three: wrong\n", ""},
		{"by a session key", []string{"r2", "right", "--session", "agent:main:telegram:direct:one"}, "one r2", store.Feedback{Verdict: "right"}, "marked run r2 of session one: right\n", ""},
		{"another intent, later", []string{"r3", "wrong", "--intent", "Travel"}, "two/three r3", store.Feedback{Verdict: "wrong", Intent: "Travel"}, "marked run r3 of session two/three: wrong (Travel)\n", `no intent "Travel"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := s.command(append([]string{"feedback"}, row.args...)...)
			require.Zero(t, code, stderr)
			require.Equal(t, row.says, stdout)
			require.Contains(t, stderr, row.notes)
			s.Eventually("feedback", func() bool {
				f := turns()[row.turn].Feedback
				return f != nil && f.Feedback == row.want
			})
		})
	}
	require.Equal(t, 1, published(t, s, "OPENCLAW_EVENTS", "openclaw.event.feedback.ops.two=2Fthree"))
	require.Equal(t, 2, published(t, s, "OPENCLAW_EVENTS", "openclaw.event.feedback.main.one"))

	t.Run("the hint's own intent is not wrong", func(t *testing.T) {
		code, stdout, stderr := s.command("feedback", "r1", "wrong", "--intent", "weather")
		require.Equal(t, 1, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "run r1 has a hint with the intent WEATHER")
		require.Equal(t, 2, published(t, s, "OPENCLAW_EVENTS", "openclaw.event.feedback.main.one"))
	})
	t.Run("it is shown", func(t *testing.T) {
		code, stdout, stderr := s.command("sessions", "show", "two/three")
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, `"verdict": "wrong"`)
		code, stdout, stderr = s.command("sessions", "turns")
		require.Zero(t, code, stderr)
		require.Regexp(t, `r3 +Travel \(WEATHER\) .* wrong \(Travel\) +will it rain`, stdout)
	})
	t.Run("it labels turns", func(t *testing.T) {
		for _, row := range []struct{ feedback, want, left string }{
			{"", "r1 WEATHER, r2 MONEY, r3 Travel", "left out: 1 turn marked wrong"},
			{"any", "r1 WEATHER, r2 MONEY, r3 Travel", "left out: 1 turn marked wrong"},
			{"right", "r1 WEATHER, r2 MONEY", ""},
			{"wrong", "r3 Travel", "left out: 1 turn marked wrong"},
			{"none", "", ""},
		} {
			args := []string{"sessions", "turns", "--jsonl"}
			if row.feedback != "" {
				args = append(args, "--feedback", row.feedback)
			}
			code, stdout, stderr := s.command(args...)
			require.Zero(t, code, stderr)
			if stdout != "" {
				_, err := evaluate.Parse("turns", []byte(stdout))
				require.NoError(t, err)
			}
			var got []string
			for raw := range strings.Lines(stdout) {
				var line record.Turn
				require.NoError(t, json.Unmarshal([]byte(raw), &line))
				got = append(got, line.RunID+" "+line.Intent)
			}
			require.Equal(t, row.want, strings.Join(got, ", "), row.feedback)
			require.Contains(t, stderr, row.left)
		}
	})
	for _, row := range []struct {
		name, args string
		code       int
		says       string
	}{
		{"an unknown run", "r9 right", exitFailed, `no turn of run "r9" in `},
		{"a run of another session", "r1 right --session two/three", exitFailed, `no turn of run "r1" in session two/three`},
		{"a run of two sessions", "r2 right", exitFailed, `run "r2" is in 2 sessions, name one with --session:`},
		{"no verdict", "r1", exitUsage, "verdict"},
		{"a verdict of the gate", "r1 skip", exitUsage, "skip"},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := s.command(append([]string{"feedback"}, strings.Fields(row.args)...)...)
			require.Equal(t, row.code, code, stdout)
			require.Contains(t, stderr, row.says)
			require.Empty(t, stdout)
		})
	}
}

// Feedback that cannot be decoded is for the operator to look at.
func TestUnknownFeedbackIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for i, event := range []string{`{"kind":"mood","runId":"r","verdict":"right"}`, `{"kind":"hint","runId":"r","verdict":"skip"}`, `{"kind":"hint","verdict":"right"}`} {
		ctx, err := json.Marshal(payload.Context{AgentID: "main", SessionID: "s"})
		require.NoError(t, err)
		s.Tell(payload.Envelope{Hook: "feedback", Event: json.RawMessage(event), Ctx: ctx, TS: 1763680000000, ID: string(rune('a' + i))})
	}
	s.Eventually("dead letters", func() bool { return published(t, s, "OPENCLAW_EVENTS_DLQ", "openclaw.dlq.feedback") == 3 })
}
