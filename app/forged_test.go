package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/payload"
	"intenthint/subjects"
)

// Rights are given by subject: whoever may publish one hook must not tell another
// in its body.
func TestAnEventUnderTheSubjectOfAnotherHookIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, nil)
	layout := app.Layout(s.Config)
	body, err := json.Marshal(payload.Envelope{
		Hook: subjects.HookTurnBegun, ID: "forged", TS: 1763680000123,
		Event: json.RawMessage(`{"prompt":"not asked"}`), Ctx: json.RawMessage(`{"agentId":"main","sessionId":"s","runId":"r"}`),
	})
	require.NoError(t, err)
	_, err = s.JS.Publish(t.Context(), layout.Prefix.Event(subjects.HookAgentEnd, "main", "s"), body)
	require.NoError(t, err)

	letters, err := s.JS.Stream(t.Context(), layout.DeadLetterStream())
	require.NoError(t, err)
	s.Eventually("the event is a dead letter", func() bool {
		letter, err := letters.GetLastMsgForSubject(t.Context(), layout.Prefix.DeadLetter(subjects.HookAgentEnd))
		if err != nil {
			return false
		}
		require.Equal(t, body, letter.Data)
		require.Contains(t, letter.Header.Get(subjects.HeaderDLQReason), "hook is turn_begun, but the subject names agent_end")
		return true
	})
	require.Empty(t, s.Files(), "no session begins")
}
