package classify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

func TestBefore(t *testing.T) {
	user := payload.Turn{Role: payload.RoleUser, Text: "rain?"}
	agent := payload.Turn{Role: payload.RoleAssistant, Text: "Where?"}
	recorded := make([]payload.Turn, 1, 4)
	recorded[0] = payload.Turn{Role: payload.RoleUser, Text: "snow?"}
	for _, row := range []struct {
		name string
		in   Input
		want []payload.Turn
	}{
		{"nothing", Input{}, nil},
		{"what was sent", Input{Conversation: []payload.Turn{user, agent}}, []payload.Turn{user, agent}},
		{"what was recorded", Input{Earlier: recorded}, recorded},
		{"an answer that was sent", Input{Earlier: recorded, Conversation: []payload.Turn{agent}}, []payload.Turn{recorded[0], agent}},
		{"an answer that was cut", Input{Conversation: []payload.Turn{user, agent}, Said: "Where? Shall I look?"}, []payload.Turn{user, {Role: payload.RoleAssistant, Text: "Where? Shall I look?"}}},
		{"a quotation after the answer", Input{Conversation: []payload.Turn{agent, user}, Said: "Where? Shall I look?"}, []payload.Turn{agent, user}},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, row.in.Before())
			require.Equal(t, "Where?", agent.Text)
			require.Equal(t, payload.Turn{}, recorded[:2][1], "what is shared is not written to")
		})
	}
}
