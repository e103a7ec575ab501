package terms

import (
	"strings"
	"unicode"

	"intenthint/internal/text/stem"
)

// Word is a word of a question, with the terms that stand for it.
type Word struct {
	// Weight is 1, or less for a word that does not name the subject of a
	// question.
	Weight float32
	// Extra marks a word that adds to the score but costs nothing if it is not
	// found, such as a whole identifier in addition to its parts.
	Extra bool
	// Function marks a word without a meaning of its own. A question has such words
	// only if it has no others.
	Function bool
	// Guessed marks a word that no text contains, and that was completed or corrected.
	Guessed bool
	Terms   []Term
}

// Subject reports whether the word may name what a question is about.
func (w Word) Subject() bool { return !w.Extra && !w.Function && !w.Guessed && w.Weight >= mixedWeight }

// Term is one of the terms that stand for a word.
type Term struct {
	Text string
	// Weight is 1 for the word itself, and less for a synonym.
	Weight float32
}

// Bounds of a question. A longer one is cut: it is a document, and its first
// words tell its subject.
const (
	maxWords = 96
	maxBytes = 8 << 10
)

const (
	synonymWeight  = 0.6  // of the weight of the word itself
	weakWeight     = 0.15 // of a word that says little, such as "use"
	hiraganaWeight = 0.15 // of a pair that is mostly grammar
	functionWeight = 0.2  // of a pair with a function word
	mixedWeight    = 0.5  // of a pair across scripts
	wholeWeight    = 0.8  // of an identifier as written, beside its parts
)

// Question returns the words of a question in its order, each once. Any text is a
// question.
func Question(text string) []Word {
	if len(text) > maxBytes {
		text = text[:maxBytes]
	}
	var words, functions []Word
	seen := make(map[string]bool)
	var lastOf string
	scan(text, func(term string, k kind) {
		if k == last {
			lastOf = term
		}
		if seen[term] || len(words)+len(functions) >= maxWords || k == last {
			return
		}
		seen[term] = true
		if k == function {
			functions = append(functions, Word{Weight: 1, Function: true, Terms: []Term{{term, 1}}})
			return
		}
		w := Word{Weight: 1, Terms: []Term{{term, 1}}}
		switch {
		case k == whole:
			w.Weight, w.Extra = wholeWeight, true
		case weakStems[term]:
			w.Weight = weakWeight
		case k == pair:
			w.Weight = pairWeight(term)
		}
		for _, other := range synonyms[term] {
			w.Terms = append(w.Terms, Term{other, synonymWeight})
		}
		words = append(words, w)
	})
	switch {
	case len(words) > 0:
	case lastOf != "":
		words = append(words, Word{Weight: 1, Terms: []Term{{lastOf, 1}}})
	default:
		words = functions
	}
	return words
}

var weakStems = func() map[string]bool {
	m := make(map[string]bool, len(weak))
	for w := range weak {
		m[stem.English(w)] = true
	}
	return m
}()

func pairWeight(p string) float32 {
	hiragana, other := false, false
	for _, r := range p {
		if strings.ContainsRune(hanWeak, r) {
			return functionWeight
		}
		if unicode.Is(unicode.Hiragana, r) {
			hiragana = true
		} else {
			other = true
		}
	}
	switch {
	case hiragana && other:
		return mixedWeight
	case hiragana:
		return hiraganaWeight
	}
	return 1
}
