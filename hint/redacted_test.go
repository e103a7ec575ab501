package hint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

// Reason, goal, suggestion and hint quote the message and the turns before it. What
// of such a quotation is redacted is a test of package redact.
func TestQuotationsOfSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, prompt, before, text, want string }{
		{
			"a user's name", "Open /Users/Annika/x.log tomorrow", "", "“tomorrow”, “annika” spoke for it",
			"“tomorrow”, “[REDACTED]” spoke for it",
		},
		{"a name that is told", "I am Annika, open /Users/Annika/x.log", "", "“annika” spoke for it", "“annika” spoke for it"},
		{
			"a token of the turn before", "and again", "curl -H 'authorization: bearer ca031b5d30d272790999b52f7fa1f938'",
			"follows “curl”: “ca031b5d30d272790999b52f7fa1f938” spoke for it", "follows “curl”: “[REDACTED]” spoke for it",
		},
		{"nothing to hide", "open the log", "", "“open” spoke for annika", "“open” spoke for annika"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := redacted(payload.TurnBegun{
				Hint: "reason: " + row.text + "\n\nTell annika of the log.", Result: &payload.Classification{Reason: row.text, Goal: row.text, Suggestion: row.text},
			}, nil, []payload.Turn{{Text: row.prompt}, {Text: row.before}})
			require.Equal(t, payload.Classification{Reason: row.want, Goal: row.want, Suggestion: row.want}, *got.Result)
			require.Equal(t, "reason: "+row.want+"\n\nTell annika of the log.", got.Hint)
		})
	}
}
