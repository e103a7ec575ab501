package payload

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeFeedback(t *testing.T) {
	for _, row := range []struct {
		name, event string
		want        Feedback
	}{
		{
			"of a decision", `{"kind":"triage","messageId":"4","group":"agent:main:telegram:group:-1","verdict":"skip","by":"ada","more":1}`,
			Feedback{Kind: FeedbackTriage, MessageID: "4", Group: "agent:main:telegram:group:-1", Verdict: VerdictSkip, By: "ada"},
		},
		{
			"of a hint", `{"kind":"hint","runId":"r1","verdict":"wrong","intent":"CODE","by":null}`,
			Feedback{Kind: FeedbackHint, RunID: "r1", Verdict: VerdictWrong, Intent: "CODE"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := DecodeFeedback(json.RawMessage(row.event))
			require.NoError(t, err)
			require.Equal(t, row.want, e)
		})
	}
}

func TestDecodeFeedbackRefuses(t *testing.T) {
	for _, row := range []struct{ name, event, reason string }{
		{"no kind", `{"messageId":"4","group":"g","verdict":"skip"}`, "kind of feedback"},
		{"a kind nobody knows", `{"kind":"mood","verdict":"good"}`, `not "mood"`},
		{"a verdict of the other kind", `{"kind":"triage","messageId":"4","group":"g","verdict":"right"}`, "verdict of triage feedback"},
		{"a verdict of triage about a hint", `{"kind":"hint","runId":"r","verdict":"skip"}`, "verdict of hint feedback"},
		{"no message", `{"kind":"triage","group":"g","verdict":"skip"}`, "messageId is missing"},
		{"no group", `{"kind":"triage","messageId":"4","verdict":"skip"}`, "group is missing"},
		{"no run", `{"kind":"hint","verdict":"right"}`, "runId is missing"},
		{"a verdict that is not text", `{"kind":"hint","runId":"r","verdict":1}`, "verdict of event must be a string"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := DecodeFeedback(json.RawMessage(row.event))
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, row.reason)
		})
	}
}
