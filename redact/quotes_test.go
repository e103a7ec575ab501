package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/redact"
)

// What a reason or goal quotes of a secret is too short to be known as one.
func TestQuotes(t *testing.T) {
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
		{
			"a token that was cut", "use the bearer ca031b5d30d272790999b52f7fa1f938 for it", "",
			"use the bearer ca0…", "use the bearer [REDACTED]…",
		},
		{"a shown word that was cut", "deployment with a@example.com", "", "deplo… with [EMAIL]", "deplo… with [EMAIL]"},
		{"an accent, and case", "Öffne /home/José/x", "", "“jose” spoke for it", "“[REDACTED]” spoke for it"},
		{"repeated letters", "open /home/loooogan/x", "", "“loogan” spoke for it", "“[REDACTED]” spoke for it"},
		{"beside a script without spaces", "打开 /home/李lukas/x", "", "“lukas”、“打开”", "“[REDACTED]”、“打开”"},
		{"a script without spaces", "打开 /home/李小龙/x", "", "“小龙”、“打开”", "“[REDACTED]”、“打开”"},
		{"a short word", "write to a@example.com", "", "about a letter", "about a letter"},
		{"nothing to hide", "open the log", "", "“open” spoke for annika", "“open” spoke for annika"},
		{"a part of a word", "open /home/bart/x", "", "the art of it", "the art of it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var q redact.Quotes
			require.Equal(t, redact.Text(row.prompt), q.Add(row.prompt))
			q.AddRedacted(row.before, redact.Text(row.before))
			require.Equal(t, row.want, q.Text(row.text))
		})
	}
}
