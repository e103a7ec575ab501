package local

import (
	"cmp"
	"slices"
	"strings"

	"intenthint/internal/text"
)

const (
	maxGoal     = 160 // characters of a goal
	maxQuote    = 100 // characters of a message or example in a reason
	maxTelling  = 3   // words in a reason
	maxHeard    = 48  // words from which these are chosen
	closeEnough = 0.3 // cosine from which on the nearest example is the reason
)

// goal restates the message on one line, with the earlier message it follows.
func goal(message, earlier string) string {
	if earlier == "" {
		return text.OneLine(message, maxGoal)
	}
	return text.OneLine(message, maxGoal/2) + ", after “" + text.OneLine(earlier, maxGoal/2-10) + "”"
}

// reason explains the answer. The vector that decided must still be
// in sc.
func (m *Model) reason(sc *scratch, v *verdict) string {
	if v.other() {
		if sc.unread() {
			return "the words of the message are not known"
		}
		return "nothing in the message is typical of one intent"
	}
	var said string
	if words := m.wordsFor(sc, v); len(words) > 0 {
		said = "“" + strings.Join(words, "”, “") + "” spoke for it"
	}
	if v.row >= 0 && (v.cosine >= closeEnough || said == "") {
		said = m.likeness(v.row)
	}
	if v.earlier != "" {
		return "follows “" + text.OneLine(v.earlier, maxQuote) + "”: " + said
	}
	return said
}

// A reason that quotes an example or a trigger begins so.
const (
	// closeToLearnt is the reason of an answer by a message that was learnt from use: it
	// is not quoted.
	closeToLearnt = "close to a message that was learnt from use"

	closeTo     = "close to the "
	kindExample = "example"
	kindTrigger = "trigger"
)

// Example returns the example that a reason of this classifier quotes, as
// [text.OneLine] shows it; ok is false for a reason that quotes none.
func Example(reason string) (example string, ok bool) {
	const before = closeTo + kindExample + " “"
	at := strings.LastIndex(reason, before) // after the earlier message, which is quoted too
	if at < 0 {
		return "", false
	}
	return strings.CutSuffix(reason[at+len(before):], "”")
}

// likeness is the reason of an answer by its nearest row.
func (m *Model) likeness(row int) string {
	kind := kindExample
	switch s := &m.samples[row]; {
	case s.learnt:
		return closeToLearnt // somebody else may have written it (contract §3)
	case s.trigger:
		kind = kindTrigger
	}
	return closeTo + kind + " “" + m.textOf(row) + "”"
}

// wordsFor skips the search for telling words if the nearest example is the
// better reason.
func (m *Model) wordsFor(sc *scratch, v *verdict) []string {
	if v.row >= 0 && v.cosine >= closeEnough {
		return nil
	}
	return m.tellingWords(sc, v)
}

// tellingWords returns the words, or pairs of characters, with the most
// evidence for the first class against the second, strongest first.
func (m *Model) tellingWords(sc *scratch, v *verdict) []string {
	if v.first < 0 {
		return nil
	}
	type telling struct {
		start, end int32
		lead       float32
	}
	var found []telling
	// hear takes the features in sc.feats, and the concept of a hash.
	hear := func(start, end int32, h uint64) {
		if roleOf(hashWord(sc.text.runes[start:end]))&roleSmall != 0 {
			return // a function word is no reason
		}
		if c, ok := conceptOfWord(h, sc.text.runes[start:end]); ok {
			sc.feats = append(sc.feats, newConcept(c))
		}
		found = append(found, telling{start, end, m.lead(sc, v)})
	}
	for _, tok := range sc.text.tokens[:min(len(sc.text.tokens), maxHeard)] {
		if tok.kind != tokenHan {
			var h uint64
			sc.feats, h = appendWord(sc.feats[:0], tok.kind, sc.text.runes[tok.start:tok.end], sc.stem[:0])
			hear(tok.start, tok.end, h)
			continue
		}
		for i := tok.start; i+1 < tok.end; i++ {
			h := hashStep(hashStep(hashSeed, sc.text.runes[i]), sc.text.runes[i+1])
			sc.feats = append(sc.feats[:0], newFeature(h, viewWord))
			hear(i, i+2, h)
		}
	}
	slices.SortStableFunc(found, func(a, b telling) int { return cmp.Compare(b.lead, a.lead) })
	var words []string
	for _, f := range found {
		if f.lead <= 0 || len(words) == maxTelling {
			break
		}
		word := text.OneLine(string(sc.text.runes[f.start:f.end]), maxQuote/maxTelling)
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// lead returns how much the features in sc.feats speak for the first class of v
// against the second.
func (m *Model) lead(sc *scratch, v *verdict) float32 {
	clear(sc.lead)
	for i := range sc.feats {
		f := &sc.feats[i]
		if k := slices.Index(sc.ids, m.lexicon.find(f.hash)); k >= 0 {
			m.addWeights(sc.lead, sc.ids[k], sc.values[k], f.view, sc.worth[k])
			axpy(sc.lead, m.weights.absent, sc.values[k])
		}
	}
	if v.second < 0 {
		return sc.lead[v.first]
	}
	return sc.lead[v.first] - sc.lead[v.second]
}
