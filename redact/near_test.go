package redact

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pattern finds the same in the part of a text that it can reach as in all of it.
func TestReachHoldsWhatPatternsMatch(t *testing.T) {
	words := []string{"/", "/", "/", `\`, "%2F", "%2f", "a", "mnt", "/mnt/c", "data1", "-v", " ", "'", "\n", `\n`, ":", "://", "http", "ftp://", "file:", "C:", ".", "~", ")", "ä", "中", "//localhost"}
	random := rand.New(rand.NewPCG(1, 2))
	patterns := map[string]struct {
		before *regexp.Regexp
		reach  func([]byte) []byte
	}{"drive": {drive, driveOf}, "root": {root, pathOf}, "anyRoot": {anyRoot, pathOf}}
	matched := 0
	for range 50_000 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(words[random.IntN(len(words))])
		}
		b.WriteString([]string{"/", "/", `\/`, "%2F", "%2f", "F"}[random.IntN(6)])
		text := []byte(b.String())
		text = text[max(0, len(text)-longestBefore):]
		for name, p := range patterns {
			want := p.before.Match(text)
			if want {
				matched++
			}
			require.Equal(t, want, p.before.Match(p.reach(text)), "%s in %q", name, text)
		}
	}
	require.Greater(t, matched, 10_000)
}
