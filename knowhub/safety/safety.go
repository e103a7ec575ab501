package safety

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"intenthint/internal/text"
)

// maxText is how much of a text is looked at, in bytes. A longer one is marked as
// that, as the rest could hold anything.
const maxText = 1 << 20

// doubt are the odds of an attack, as a logarithm, below which a rule that has
// exceptions does not count in a sentence of a short text: at even odds a plain
// "ignore previous instructions" behind another clause was lost.
const doubt = -1.5

// maxDepth is how often a decoded text is looked at for an encoded one.
const maxDepth = 2

// concepts are the words of all concepts. It takes some milliseconds to make, and
// most commands do not need it.
var concepts = sync.OnceValue(func() *trie { return newTrie(words) })

// Marks returns the names of what in a text of several parts looks like a prompt
// injection, sorted; nil for a text in which nothing does (contract §12). Each part
// is judged by itself, so that nothing in another one hides or adds to what it says;
// rules also match words that are spread over several.
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
		m := learnt()
		matching(s).mark(m, m.slope*length(len(segments(s))), false, mark)
	}
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
	text := segments(s)
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
	within []segment // the sentence, where the rule counts only if the model finds an attack likely in it
}

// matches are those of a text, and of the same text without what is quoted.
type matches struct{ all, plain []match }

// matching returns the matches of a text, which is visible and without escapes.
func matching(s string) matches {
	out := matches{all: matchesOf(s)}
	out.plain = out.all
	if plain := quoted.ReplaceAllLiteralString(s, " "); len(out.all) > 0 && plain != s {
		out.plain = matchesOf(plain)
	}
	return out
}

func matchesOf(s string) (out []match) {
	f := fold(s)
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

// odds returns those of an attack in the sentence where it is the likeliest, +Inf for
// one in which a rule is certain and -Inf for none. What is quoted is left out.
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

// mark calls yield for the rules that count, and reports whether there are any: in a
// long text the odds have to be higher by rise, as in the model. What is only quoted
// counts where the model marks the text (sure): reports on attacks quote them.
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
