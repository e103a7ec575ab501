package stem_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/text/stem"
)

func TestEnglish(t *testing.T) {
	for _, tt := range []struct{ words, stem string }{
		{"configure configured configuring configuration configurations", "configur"},
		{"deploy deploys deployed deploying", "deploi"},
		{"break breaks broke broken breaking", "break"},
		{"connect connection connections connecting", "connect"},
		{"query queries", "queri"},
		{"run runs running ran", "run"},
		{"hop hops hopping hopped", "hop"},
		{"emoji emojis", "emoji"},
		{"status", "status"},
		{"redis", "redis"},
		{"go goes going went gone", "go"},
		{"analysis analyses analyze analyzed analyse analysing", "analyz"},
		{"diagnosis diagnoses diagnose", "diagnos"},
		{"hypothesis hypotheses", "hypothesis"},
		{"crisis crises", "crisis"},
		{"axis axes", "axis"},
		{"life lives live living", "live"},
		{"leaf leaves leave left", "leav"},
		{"half halves halved", "half"},
		{"foot feet", "foot"},
		{"mouse mice", "mous"},
		{"win wins won winning", "win"},
		{"lead leads led leading", "lead"},
		{"fly flies flew flown flying", "fly"},
		{"try tries tried trying", "try"},
		{"wear wore worn wearing", "wear"},
		{"sing sings sang sung singing", "sing"},
		{"easy easily easier", "easi"},
		{"fast faster fastest", "fast"},
		{"family families", "famili"},
		{"größe", "größe"},
		{"booking bookings booked books book", "book"},
		{"make makes making made", "make"},
		{"city cities", "citi"},
		{"class classes", "class"},
		{"this", "thi"},
		{"naïve", "naïve"},
		{"is", "is"},
		{"", ""},
	} {
		for word := range strings.FieldsSeq(tt.words) {
			require.Equal(t, tt.stem, stem.English(word), word)
			require.Equal(t, tt.stem, string(stem.EnglishRunes(nil, []rune(word))), word)
		}
	}
}

func TestEnglishRunesDoesNotAllocate(t *testing.T) {
	word, buf := []rune("configurations"), make([]rune, 0, stem.Longest)
	require.Zero(t, testing.AllocsPerRun(100, func() { stem.EnglishRunes(buf, word) }))
}

// Whatever the word, both forms agree, and a stem is not longer than the longest
// word that has one.
func FuzzEnglish(f *testing.F) {
	f.Add("configurations")
	f.Add("deadlock")
	f.Fuzz(func(t *testing.T, word string) {
		if strings.ToValidUTF8(word, "") != word {
			return
		}
		got := stem.English(word)
		require.Equal(t, got, string(stem.EnglishRunes(make([]rune, 0, stem.Longest), []rune(word))))
		if got != word {
			require.LessOrEqual(t, len(got), stem.Longest)
		}
	})
}
