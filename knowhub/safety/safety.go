package safety

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"intenthint/internal/text"
)

// maxText is how much of a text is looked at, in bytes. A longer one is marked as
// that, as the rest could hold anything.
const maxText = 1 << 20

// doubt are the odds of an attack, as a logarithm, below which rules that have
// exceptions do not count: at even odds a plain "ignore previous instructions" behind
// another clause was lost.
const doubt = -1.5

// maxDepth is how often a decoded text is looked at for an encoded one.
const maxDepth = 2

// concepts are the words of all concepts. It takes some milliseconds to make, and
// most commands do not need it.
var concepts = sync.OnceValue(func() *trie { return newTrie(words) })

// Marks returns the names of what in s looks like a prompt injection, sorted;
// nil for a text in which nothing does (contract §12).
func Marks(s string) []string {
	found := make(map[string]bool)
	if cut := text.CutBytes(s, maxText); len(cut) < len(s) {
		found[Oversize] = true
		s = cut
	}
	look(s, maxDepth, func(mark string) { found[mark] = true })
	if len(found) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(found))
}

// look calls mark for what it finds in s, and in the texts that are encoded in
// it.
func look(s string, depth int, mark func(string)) {
	inner := unseen(s)
	s = unescape(seen(s))
	marked := hasMarker(s)
	if marked {
		mark(Markers)
	}
	m := learnt()
	odds := m.odds(segments(s))
	sure := odds > m.above
	switch {
	case ruled(s, odds > doubt, sure, mark):
	case sure && !marked:
		mark(Learnt)
	}
	if depth == 0 {
		return
	}
	for _, text := range append(inner, decoded(s)...) {
		look(text, depth-1, func(name string) {
			mark(Encoded)
			mark(name)
		})
	}
}

// ruled calls mark for the rules that a text matches, which is visible and without
// escapes, and reports whether there are any. Rules that are not certain match where
// an attack is likely for the model as well. What is only quoted matches where the
// model is sure: reports on attacks quote them.
func ruled(s string, likely, sure bool, mark func(string)) (found bool) {
	matches := func(s string, mark func(string)) {
		apply(concepts().find(fold(s)), func(r rule) {
			if likely || r.certain() {
				found = true
				mark(r.mark)
			}
		})
	}
	if !sure {
		if matches(quoted.ReplaceAllLiteralString(s, " "), func(string) {}); !found {
			return false
		}
	}
	matches(s, mark)
	return found
}

// quoted is what stands between quotation marks in a line.
var quoted = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」|\x60[^\x60\n]*\x60`)

// seen returns s without what nobody sees.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, s)
}
