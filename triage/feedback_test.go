package triage

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/payload"
	"intenthint/triage/state"
)

// sentAt is the ts of events, in ms.
const sentAt = 1763680001000

func fact(t *testing.T, hook, event, ctx string, ts int64) (string, Fact) {
	t.Helper()
	body, err := json.Marshal(payload.Envelope{Hook: hook, Event: json.RawMessage(event), Ctx: json.RawMessage(ctx), TS: ts, ID: "e1"})
	require.NoError(t, err)
	group, got, f, err := DecodeFact("", "", body)
	require.NoError(t, err)
	require.Equal(t, hook, got)
	return group, f
}

func TestDecodeFact(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, hook, event, ctx string
		want                   Fact
	}{
		{
			"feedback", "feedback", `{"kind":"triage","messageId":"4","group":"g","verdict":"skip","by":"ada"}`, `{}`,
			Fact{Mark: &state.Mark{Group: "g", MessageID: "4", Verdict: state.Skip, By: "ada", At: sentAt, ID: "e1"}},
		},
		{
			"a message that was sent", "message_sent", `{"messageId":"5","content":"done","success":true,"sessionKey":"g"}`, `{}`,
			Fact{Sent: &Sent{"g", state.RecentMessage{ID: "5", At: sentAt, Text: "done", Bot: true}}},
		},
		{
			"one without an id", "message_sent", `{"content":"done"}`, `{"sessionKey":"g"}`,
			Fact{Sent: &Sent{"g", state.RecentMessage{ID: "e1", At: sentAt, Text: "done", Bot: true}}},
		},
		{"a turn without an answer", "before_prompt_build", `{"prompt":"x"}`, `{"sessionKey":"g","runId":"r"}`, Fact{Unanswered: &state.Turn{Group: "g", Run: "r", Request: "e1"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			group, f := fact(t, row.hook, row.event, row.ctx, sentAt)
			require.Equal(t, "g", group)
			require.Equal(t, row.want, f)
		})
	}
	for _, row := range []struct{ name, hook, event, ctx string }{
		{"feedback about a hint", "feedback", `{"kind":"hint","runId":"r","verdict":"right"}`, `{}`},
		{"feedback without a verdict", "feedback", `{"kind":"triage"}`, `{}`},
		{"an id of kilobytes", "feedback", `{"kind":"triage","messageId":"` + strings.Repeat("x", 5000) + `","group":"g","verdict":"skip"}`, `{}`},
		{"a message that was not sent", "message_sent", `{"content":"done","success":false,"sessionKey":"g"}`, `{}`},
		{"a message without a text", "message_sent", `{"sessionKey":"g"}`, `{}`},
		{"a turn without a run", "before_prompt_build", `{}`, `{"sessionKey":"g"}`},
		{"another hook", "agent_end", `{}`, `{}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			group, f := fact(t, row.hook, row.event, row.ctx, sentAt)
			require.Empty(t, group)
			require.Equal(t, Fact{}, f)
		})
	}
	_, _, _, err := DecodeFact("", "", []byte(`{"hook":"message_sent","event":{"sessionKey":7},"ctx":{},"ts":1763680001000,"id":"e1"}`))
	require.ErrorIs(t, err, payload.ErrInvalid, "which the sessions do not read")
	sent := []byte(`{"hook":"message_sent","event":{"content":"done"},"ctx":{"sessionKey":"g"},"ts":1763680001000,"id":"e1"}`)
	group, _, _, err := DecodeFact("agent_end", "", sent)
	require.NoError(t, err, "a dead letter of the sessions")
	require.Empty(t, group, "its subject names another hook")
	for _, body := range []string{`{"hook":"feedback","event":{},"ctx":{},"ts":1763680001000,"id":"e1"}`, "garbage"} {
		_, _, _, err = DecodeFact("message_sent", "", []byte(body))
		require.ErrorIs(t, err, payload.ErrInvalid, "which the sessions do not read")
	}
	_, _, f, err := DecodeFact("", "", []byte("garbage"))
	require.NoError(t, err, "a dead letter of the sessions")
	require.Equal(t, Fact{}, f)
}

func TestSink(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	set.History, set.Redact = 5, true
	g := process(t, ns, set)
	ask(t, g, event("m1", "ask alice@example.com", "timestamp", time.Now().UnixMilli()))
	shared := store(t, ns)
	sink := Sink{State: shared, Settings: g.Settings}
	for range 2 { // events come twice
		for _, row := range []struct{ hook, event, ctx string }{
			{"feedback", `{"kind":"triage","messageId":"m1","group":"` + groupKey + `","verdict":"respond"}`, `{}`},
			{"feedback", `{"kind":"triage","messageId":"unknown","group":"` + groupKey + `","verdict":"skip"}`, `{}`},
			{"message_sent", `{"messageId":"s1","content":"write to\nbob@example.com","sessionKey":"` + groupKey + `"}`, `{}`},
			{"message_sent", `{"messageId":"s2","content":"direct","sessionKey":"agent:main:main"}`, `{}`},
		} {
			_, f := fact(t, row.hook, row.event, row.ctx, time.Now().UnixMilli())
			require.NoError(t, sink.Apply(t.Context(), []Fact{f}))
		}
		_, f := fact(t, "message_sent", `{"messageId":"old","content":"old","sessionKey":"`+groupKey+`"}`, `{}`, time.Now().Add(-2*time.Hour).UnixMilli())
		require.NoError(t, sink.Apply(t.Context(), []Fact{f}))
	}
	marks, err := shared.Marks(t.Context())
	require.NoError(t, err)
	require.Len(t, marks, 2)
	texts := map[string]string{marks[0].MessageID: marks[0].Text, marks[1].MessageID: marks[1].Text}
	require.Equal(t, map[string]string{"m1": "ask [EMAIL]", "unknown": ""}, texts)
	said, err := shared.Recent(t.Context(), groupKey, time.Now())
	require.NoError(t, err)
	require.Len(t, said, 2)
	require.Equal(t, "write to [EMAIL]", said[1].Text)
	require.True(t, said[1].Bot)
	said, err = shared.Recent(t.Context(), "agent:main:main", time.Now())
	require.NoError(t, err)
	require.Empty(t, said)

	// A turn that got no answer leaves what it was told to the next one.
	s := teller(t, ns, set)
	require.NotEmpty(t, tell(t, s, turn("r1")))
	_, f := fact(t, "before_prompt_build", `{}`, `{"sessionKey":"`+groupKey+`","runId":"r1"}`, sentAt)
	require.NoError(t, sink.Apply(t.Context(), []Fact{f}))
	require.NotEmpty(t, tell(t, s, turn("r2")))

	ns.Shutdown()
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = sink.Apply(brief, []Fact{f})
	var passing interface{ Temporary() bool }
	require.True(t, errors.As(err, &passing) && passing.Temporary(), "%v", err)
}

// A mark may arrive before the decision about its message: the event may be faster than
// a slow model.
func TestAMarkBeforeTheDecisionGetsItsText(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	shared := store(t, ns)
	set := settings(says("SKIP"))
	set.Redact = true
	g, other := process(t, ns, set), process(t, ns, set)
	mark := func(id string) {
		_, f := fact(t, "feedback", `{"kind":"triage","messageId":"`+id+`","group":"`+groupKey+`","verdict":"respond"}`, `{}`, sentAt)
		require.NoError(t, Sink{State: shared, Settings: g.Settings}.Apply(t.Context(), []Fact{f}))
	}
	texts := func() map[string]string {
		marks, err := shared.Marks(t.Context())
		require.NoError(t, err)
		g.UseMarks(marks)
		other.UseMarks(marks)
		out := map[string]string{}
		for _, m := range marks {
			out[m.MessageID] = m.Text
		}
		return out
	}
	for _, id := range []string{"m1", "m2", "removed"} {
		mark(id)
	}
	require.Equal(t, map[string]string{"m1": "", "m2": "", "removed": ""}, texts())
	removed, err := shared.Unmark(t.Context(), groupKey, "removed", time.UnixMilli(2000))
	require.NoError(t, err)
	require.True(t, removed)
	for _, id := range []string{"m1", "m3", "removed"} {
		ask(t, g, event(id, "ask alice@example.com"))
		ask(t, other, event(id, "said again"))
	}
	require.Equal(t, map[string]string{"m1": "ask [EMAIL]", "m2": ""}, texts())

	// The gate that decides does not know the mark, and another one is asked again.
	g.UseMarks(nil)
	ask(t, g, event("m2", "lunch at noon"))
	require.Empty(t, texts()["m2"])
	ask(t, other, event("m2", "lunch at noon"))
	require.Equal(t, "lunch at noon", texts()["m2"])
}

// meanwhile is a state in which a decision is made between two calls.
type meanwhile struct {
	*state.Store
	decide func()
}

func (m meanwhile) Mark(ctx context.Context, mark state.Mark) error {
	m.decide()
	return m.Store.Mark(ctx, mark)
}

func TestADecisionDuringAMarkGivesItsText(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	g := process(t, ns, settings(says("SKIP")))
	shared := meanwhile{store(t, ns), func() { ask(t, g, event("m1", "lunch at noon")) }}
	_, f := fact(t, "feedback", `{"kind":"triage","messageId":"m1","group":"`+groupKey+`","verdict":"respond"}`, `{}`, sentAt)
	require.NoError(t, Sink{State: shared, Settings: g.Settings}.Apply(t.Context(), []Fact{f}))
	marks, err := shared.Marks(t.Context())
	require.NoError(t, err)
	require.Len(t, marks, 1)
	require.Equal(t, "lunch at noon", marks[0].Text)
}

// failing is a state of which some calls fail.
type failing struct {
	meanwhile
	// decisions is the number of calls of Decision that succeed.
	decisions int
	complete  error
}

func (f *failing) Decision(ctx context.Context, group, messageID string) (state.Decision, bool, error) {
	if f.decisions--; f.decisions < 0 {
		return state.Decision{}, false, context.DeadlineExceeded
	}
	return f.Store.Decision(ctx, group, messageID)
}

func (f *failing) Complete(ctx context.Context, d state.Decision) error {
	if f.complete != nil {
		return f.complete
	}
	return f.Store.Complete(ctx, d)
}

func TestAMarkThatComesAgainAfterAFailureGetsItsText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		with failing
	}{
		{"of the second look at the decision", failing{decisions: 1}},
		{"of the completion", failing{decisions: 2, complete: context.DeadlineExceeded}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ns := natstest.Start(t, nil)
			g := process(t, ns, settings(says("SKIP")))
			shared := store(t, ns)
			row.with.meanwhile = meanwhile{shared, func() { ask(t, g, event("m1", "lunch at noon")) }}
			_, f := fact(t, "feedback", `{"kind":"triage","messageId":"m1","group":"`+groupKey+`","verdict":"respond"}`, `{}`, sentAt)
			require.ErrorIs(t, Sink{State: &row.with, Settings: g.Settings}.Apply(t.Context(), []Fact{f}), context.DeadlineExceeded)
			texts := func() (out []string) {
				marks, err := shared.Marks(t.Context())
				require.NoError(t, err)
				for _, m := range marks {
					out = append(out, m.Text)
				}
				return out
			}
			require.Equal(t, []string{""}, texts())
			require.NoError(t, Sink{State: shared, Settings: g.Settings}.Apply(t.Context(), []Fact{f}))
			require.Equal(t, []string{"lunch at noon"}, texts())
		})
	}
}
