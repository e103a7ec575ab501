package local_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/triage/local"
)

// TestJudgeLeavesWhatMayBeForTheBot holds messages that go on with the bot's talk, ask,
// or call somebody unknown while the bot takes part, to be no sure skips. Each has a
// like message that is one, so that the place decides and not the words.
func TestJudgeLeavesWhatMayBeForTheBot(t *testing.T) {
	gate := trained()
	answered := []string{"Tom: which kernel has the fix", "Bot: 6.1.50 and later."}
	among := []string{"Tom: im ordering thai, anyone want something", "Maya: yes please, green curry", "Tom: ok ordered, 40 min", "Maya: see you then"}
	skips := func(text, sender string, recent []local.Earlier) bool {
		respond, sure, _ := gate.Judge(local.Input{Text: text, Sender: sender, BotName: "Pixel", At: now, Recent: recent})
		return sure && !respond
	}
	for name, c := range map[string]struct {
		text, sender string
		recent       []string
		unsure       bool
	}{
		"a statement right after the answer":         {"just got it yesterday", "Tom", answered, true},
		"the same some messages later":               {"just got it yesterday", "Tom", append(append([]string{}, answered...), "Maya: I'm home", "Jules: me too", "Maya: good"), true},
		"the same among people":                      {"just got it yesterday", "Tom", among, false},
		"somebody else right after the answer":       {"mine is still at home", "Maya", answered, true},
		"somebody else long after":                   {"I'm on the train now", "Maya", append(append([]string{}, answered...), "Tom: I'm home", "Jules: me too", "Tom: good"), false},
		"a question to somebody while the bot talks": {"what did you do", "Maya", append(append([]string{}, answered...), "Tom: I'm home", "Jules: me too"), true},
		"the same among people, you":                 {"did you feed the cat", "Maya", among, false},
		"a person by name":                           {"Tom: see you at six", "Maya", []string{"Maya: hi", "Tom: which kernel has the fix", "Bot: 6.1.50 and later.", "Tom: good", "Jules: I'm home", "Tom: me too"}, false},
		"a name that nobody here has":                {"karl, home at six", "Maya", append(append([]string{}, answered...), "Tom: I'm home", "Jules: me too"), true},
		"thanks":                                     {"thanks", "Tom", answered, false},
		"laughter":                                   {"haha", "Maya", answered, false},
		"agreement with what the bot asked":          {"yes", "Tom", []string{"Tom: which kernel has the fix", "Bot: 6.1.50. Shall I show how to get it?"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.unsure, !skips(c.text, c.sender, said(c.recent...)))
		})
	}
	t.Run("not after a quarter of an hour", func(t *testing.T) {
		old := said(append(append([]string{}, answered...), "Maya: I'm home", "Jules: me too", "Maya: good")...)
		require.False(t, skips("on my way home now", "Tom", old))
		for i := range old {
			old[i].At = old[i].At.Add(-20 * time.Minute)
		}
		require.True(t, skips("on my way home now", "Tom", old))
	})
	t.Run("a name that two people have names neither", func(t *testing.T) {
		chat := []string{"Max Mann: hi", "Jules: hi", "Maya: which kernel has the fix", "Bot: 6.1.50 and later.", "Max Mann: good", "Jules: I'm home"}
		require.True(t, skips("Max: ok, see you later", "Maya", said(chat...)))
		chat[1], chat[5] = "Max Kern: hi", "Max Kern: I'm home"
		require.False(t, skips("Max: ok, see you later", "Maya", said(chat...)))
	})
	t.Run("who called the bot goes on", func(t *testing.T) {
		calls := []string{"Jules: Pixel, I'm back", "Bot: Welcome.", "Tom: I'm home", "Maya: me too", "Tom: see you"}
		other := []string{"Jules: right, I'm back", "Ann: so", "Bot: Welcome.", "Tom: I'm home", "Maya: me too", "Tom: see you"}
		require.False(t, skips("home at six", "Jules", said(calls...)))
		require.True(t, skips("home at six", "Jules", said(other...)))
	})
}
