package local

import (
	"sync"
	"unicode"

	"intenthint/intents"
	"intenthint/internal/text"
)

const (
	// openingChars is how much of an example is read for its first words.
	openingChars = 40
	// leastOpened is how many built-in examples begin with a word with which
	// requests begin.
	leastOpened = 2
	// openingLetters is how much of a word is compared: verbs are inflected at their ends.
	openingLetters = 6
)

// openers are words with which people begin requests, in the languages of the
// built-in examples; for scripts without spaces, pairs of characters.
var openers = sync.OnceValue(func() map[uint64]bool {
	count := map[uint64]int{}
	var t reading
	for _, in := range intents.Bundled().Enabled() {
		for _, example := range in.Examples {
			if h, ok := t.opening(text.Cut(example, openingChars)); ok {
				count[h]++
			}
		}
	}
	out := map[uint64]bool{}
	for h, n := range count {
		if n >= leastOpened {
			out[h] = true
		}
	}
	return out
})

// opening returns a hash of the word with which a text begins.
func (t *reading) opening(s string) (uint64, bool) {
	t.reset(s)
	if len(t.tokens) == 0 {
		return 0, false
	}
	word := t.runes[t.tokens[0].start:t.tokens[0].end]
	switch {
	case unicode.IsDigit(word[0]):
		return 0, false
	case t.tokens[0].kind == tokenHan:
		word = word[:min(len(word), 2)]
	default:
		word = word[:min(len(word), openingLetters)]
	}
	return hashWord(word), true
}

// opens reports whether a text begins like a request.
func opens(s string) bool {
	var t reading
	h, ok := t.opening(text.Cut(s, openingChars))
	return ok && openers()[h]
}
