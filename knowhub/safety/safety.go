package safety

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"intenthint/internal/text"
)

// maxText is how much of a text is read, in bytes. A longer text is marked as
// [Oversize], as the rest could contain anything.
const maxText = 1 << 20

// doubt is the log odds of an attack below which a marker of chat templates does
// not count, and a rule with exceptions not in a sentence of a short text. From -4.8
// up, a plain "ignore previous instructions" after another clause is missed.
const doubt = -4.9

// maxDepth bounds nested encodings.
const maxDepth = 2

// concepts holds the words of all concepts. It takes a few milliseconds to
// build, and most commands do not need it.
var concepts = sync.OnceValue(func() *trie { return newTrie(words) })

// Marks returns the sorted names of what looks like a prompt injection in a
// text of several parts; nil if nothing does (contract §12). Each part is
// judged by itself, so that other parts can neither hide nor reinforce it;
// rules also match words that are spread over several parts.
func Marks(parts ...string) []string {
	found := make(map[string]bool)
	mark := func(name string) { found[name] = true }
	for _, part := range parts {
		cut := text.CutBytes(part, maxText)
		if len(cut) < len(part) {
			mark(Oversize)
		}
		look(cut, maxDepth, mark)
	}
	if len(parts) > 1 {
		joined := text.CutBytes(strings.Join(parts, "\n"), maxText)
		s := unescape(seen(joined))
		m := classifier()
		matching(s).mark(m, m.slope*length(len(segments(s))), false, mark)
	}
	if len(found) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(found))
}

// Excess returns by how much the log odds of an attack that the model finds in a text
// are above its threshold: it marks the text if that is positive. -Inf for a text
// without letters. For measurements; [Marks] says what counts.
func Excess(s string) float64 {
	m := classifier()
	return m.excess(segments(unescape(seen(text.CutBytes(s, maxText))))) - m.above
}

// look calls mark for what it finds in s and in the texts encoded in it.
func look(s string, depth int, mark func(string)) {
	if loose := loosened(s); loose != s {
		look(loose, 0, mark)
	}
	inner := unseen(s)
	s = unescape(seen(s))
	m := classifier()
	text := segments(s)
	marked := markerIn(s).counts(m.odds(text))
	if marked {
		mark(Markers)
	}
	sure := m.marks(text)
	if !matching(s).mark(m, m.slope*length(len(text)), sure, mark) && sure && !marked {
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

// A match is a rule that matches a sentence.
type match struct {
	rule
	within []segment // the sentence, if the rule counts only when the model finds an attack likely there
}

// matches are the matches of a text, and of the same text without quotations.
type matches struct{ all, plain []match }

// matching returns the matches of a text that is visible and without escapes.
func matching(s string) matches {
	out := matches{all: matchesOf(s)}
	out.plain = out.all
	if plain := quoted.ReplaceAllLiteralString(s, " "); len(out.all) > 0 && plain != s {
		out.plain = matchesOf(plain)
	}
	return out
}

func matchesOf(s string) (out []match) {
	f := foldText(s)
	hits := concepts().find(f)
	apply(hits, func(r rule, hits []hit) {
		found := match{rule: r}
		if !r.certain() {
			found.within = f.sentence(hits[0].sentence).segments(hits)
		}
		out = append(out, found)
	})
	return out
}

// odds returns the log odds of an attack in the likeliest sentence, +Inf if a
// rule is certain there, and -Inf without matches. Quotations are left out.
func (all matches) odds(m model) float64 {
	best := math.Inf(-1)
	for _, x := range all.plain {
		best = max(best, x.odds(m))
	}
	return best
}

func (x match) odds(m model) float64 {
	if x.certain() {
		return math.Inf(1)
	}
	return m.odds(x.within)
}

// mark calls yield for the rules that count, and reports whether there are any.
// In a long text the odds must be higher by rise, as in the model. Matches that
// are only quoted count if the model marks the text (sure): reports on attacks
// quote them.
func (all matches) mark(m model, rise float64, sure bool, yield func(string)) (found bool) {
	if !sure && all.odds(m) <= doubt+rise {
		return false
	}
	for _, x := range all.all {
		if x.odds(m) > doubt+rise {
			found = true
			yield(x.mark)
		}
	}
	return found
}

// quoted matches text between quotation marks on a line.
var quoted = regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」|\x60[^\x60\n]*\x60`)

// loosened returns s with spaces in place of the invisible characters that may stand
// between words as well as within them. Joiners belong to words and emoji.
func loosened(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' {
			return ' '
		}
		return r
	}, s)
}

// seen returns s without invisible characters.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, s)
}
