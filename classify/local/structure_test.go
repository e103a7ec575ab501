package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

func TestOwnWords(t *testing.T) {
	mail := "Dear team, our meeting on Thursday is moved to three. Please tell the others."
	for _, tt := range []struct{ name, message, want string }{
		{"forbidden, then wanted", "don't set a reminder, just tell me what time it is", "just tell me what time it is"},
		{"wanted, then forbidden", "summarize this thread, don't reply to it", "summarize this thread"},
		{"between", "fix the bug, do not commit it, then show me the diff", "fix the bug, then show me the diff"},
		{"one thing, not another", "not the weather, the traffic", "the traffic"},
		{"without a mark", "write the script but do not push it", "write the script"},
		{"two sentences", "No need to search. What do you think?", "What do you think?"},
		{"Chinese", "別查網路，直接回答", "直接回答"},
		{"Japanese, without a mark", "検索しないでメモして", "メモして"},
		{"Korean, without a mark", "번역하지 말고 요약해줘", "요약해줘"},
		{"German infinitive", "nicht übersetzen, nur zusammenfassen", "nur zusammenfassen"},
		{"German participle", "nicht gefunden, nur eine leere Seite", ""},
		{"Russian imperative", "не переводи, перескажи", "перескажи"},
		{"Russian present tense", "не работает, помоги", ""},
		{"forbidden, nothing else", "don't remind me any more", ""},
		{"a reason", "don't book it, I have no money", ""},
		{"a state", "no sound, just noise", ""},
		{"not only", "not only the weather but the traffic", ""},
		{"not to be forgotten", "do not forget to call mum, remind me at six", ""},
		{"in the middle of a clause", "why doesn't it compile, I did not change it", ""},
		{"too long to look at", "don't translate it, summarize it. " + strings.Repeat("The board met on Monday. ", 20), ""},

		{"before a colon", "translate this: please review my code and deploy it", "translate this"},
		{"before a wide colon", "要約して：木曜日の会議は午後三時に変更になりました", "要約して"},
		{"before text below", "summarize the following " + mail, "summarize the following"},
		{"behind text", mail + " translate the above into German", "translate the above into German"},
		{"behind an arrow", mail + " ^ is this safe?", "is this safe?"},
		{"and a negation", "don't translate, summarize: " + mail, "summarize"},
		{"a name behind a colon", "translate this: Feierabend", ""},
		{"another list", "add to my list: milk, bread and a letter to translate", ""},
		{"a time", "translate at 10:30 the letter from the landlord, please", ""},
		{"an address", "summarize https://example.com/a/long/path/to/a/page for me", ""},
		{"a statement", "I have to translate a text: where do I find a good dictionary?", ""},
		{"nothing to do with it", "the following happened: " + mail, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			own, _ := ownWords(tt.message)
			require.Equal(t, tt.want, own)
		})
	}
}

// What structure-dev.jsonl was written for is read apart, and its controls as a whole.
func TestStructure(t *testing.T) {
	m := bundled()
	for _, tt := range []struct {
		name           string
		cut, kept      float64 // shares that are read apart, and as a whole, at least
		right, control float64 // shares that are right, at least
	}{
		{"structure-dev.jsonl", 0.99, 1, 0.92, 0.9},
		{"structure-heldout.jsonl", 0.9, 0.9, 0.95, 0.7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n, apart, right [2]float64
			for _, line := range conversations(t, tt.name) {
				k := 0
				if line.Kind == "control" {
					k = 1
				}
				n[k]++
				if own, _ := ownWords(line.Text); own != "" {
					apart[k]++
				}
				if p := m.Predict(line.Text, nil, nil); !p.Other && (p.Intent == line.Intent || slices.Contains(line.Intents, p.Intent)) {
					right[k]++
				}
			}
			t.Log(n, apart, right)
			require.GreaterOrEqual(t, apart[0]/n[0], tt.cut)
			require.GreaterOrEqual(t, 1-apart[1]/n[1], tt.kept)
			require.GreaterOrEqual(t, right[0]/n[0], tt.right)
			require.GreaterOrEqual(t, right[1]/n[1], tt.control)
		})
	}
}

// No example of the catalogue is taken for another intent's because a part was left out.
func TestExamplesKeepTheirIntents(t *testing.T) {
	m, cat, apart := bundled(), intents.Bundled(), 0
	for _, in := range append(slices.Clone(cat.Enabled()), cat.Fallback()) {
		for _, e := range in.Examples {
			if own, _ := ownWords(e); own == "" {
				continue
			}
			apart++
			p := m.Predict(e, nil, nil)
			require.Equal(t, in.ID == cat.Fallback().ID, p.Other, e)
			require.True(t, p.Other || p.Intent == in.ID, "%s: %s", p.Intent, e)
		}
	}
	require.NotZero(t, apart)
}

func TestMarksOf(t *testing.T) {
	require.Zero(t, marksOf("could you check whether the invoice has been paid yet?"))
	require.Zero(t, marksOf("幫我看看明天的會議可不可以改到星期五"))
	require.Equal(t, markNegates, marksOf("Don’t!"))
	require.Equal(t, markNegates|markPoints, marksOf("別翻譯，總結下面這段"))
	for _, list := range []wordings{forbids, forbidsAfter, denies, deniesAfter} {
		for _, phrase := range list {
			require.NotZero(t, marksOf(phrase)&markNegates, phrase)
		}
	}
	for _, phrase := range slices.Concat(pointsBelow, pointsAbove) {
		require.NotZero(t, marksOf(phrase)&markPoints, phrase)
	}
}
