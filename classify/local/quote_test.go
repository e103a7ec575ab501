package local

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

func TestWithoutQuotes(t *testing.T) {
	long := strings.Repeat("the quick brown fox ", 3)
	for _, tt := range []struct{ name, message, want string }{
		{"in front", `summarise this: "` + long + `"`, "summarise this"},
		{"behind", "“" + long + "” - translate it", "translate it"},
		{"on both sides", "put «" + long + "» into French", "put   into French"},
		{"two", `which is better, "` + long + `" or "` + long + `"?`, "which is better,   or  ?"},
		{"code", "fix it\n```\n" + long + "\n```", "fix it"},
		{"Chinese", "总结：「" + strings.Repeat("会议", 10) + "」", "总结："},
		{"short", `play "Feeling Good"`, ""},
		{"short, then long", `translate "a" and "` + long + `"`, `translate "a" and`},
		{"not closed", `he said "` + long, ""},
		{"nothing else", `"` + long + `"`, ""},
		{"none", long, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, withoutQuotes(tt.message))
		})
	}
}

func TestQuotedContentDoesNotDecide(t *testing.T) {
	m := bundled()
	for _, name := range []string{"quotes-dev.jsonl", "quotes-heldout.jsonl"} {
		lines, right := conversations(t, name), 0.0
		for _, line := range lines {
			if p := m.Predict(line.Text, nil, nil); !p.Other && p.Intent == line.Intent {
				right++
			}
		}
		require.GreaterOrEqual(t, right/float64(len(lines)), 0.8, name)
	}
}

func TestFunctionWordsAreNoReason(t *testing.T) {
	m := Train(intents.NewCatalog([]intents.Intent{
		{ID: "SOUP", Triggers: []string{"soup"}, Examples: []string{"what is about the soup", "is the soup about ready"}},
		{ID: "RAIN", Triggers: []string{"rain"}, Examples: []string{"rain tomorrow", "umbrella today"}},
	}))
	words := m.Predict("is the soup about to be eaten by a fox", nil, nil).Words
	require.Contains(t, words, "soup")
	require.NotContains(t, words, "about")
	require.NotContains(t, words, "is")
}
