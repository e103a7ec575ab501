package local

import (
	_ "embed"
	"strings"
	"unicode"

	"intenthint/internal/text/stem"
)

// concepts are groups of words with similar meanings: an example that says
// "buy" is then some evidence for a message that says "purchase", and one that
// says "weather" for 天氣. There is one group per line; a word belongs to the
// first group that names it. English words also stand for their other forms
// (see package stem). Chinese words are in simplified characters (see compared) and two
// characters long.
//
//go:embed concepts.txt
var concepts string

// conceptsElsewhere adds words of further languages to the groups of concepts, in
// the order German, Spanish, French, Portuguese, Italian, Russian, Turkish,
// Arabic, Hindi, Japanese, Korean: an example in one language is then some
// evidence for a message in another. A line begins with a word of the group.
// A word with a hyphen stands for all words that begin with it. In scripts
// without spaces, two or three characters are compared. Words that are also
// English, and beginnings of English words, are left out.
//
//go:embed concepts_languages.txt
var conceptsElsewhere string

// conceptsEurope continues conceptsElsewhere, in the same form, with Dutch, Polish,
// Swedish, Danish, Norwegian, Finnish, Czech and Romanian.
//
//go:embed concepts_europe.txt
var conceptsEurope string

// conceptsFurther is like conceptsElsewhere, for Hungarian, Greek, Ukrainian,
// Vietnamese, Indonesian, Thai, Hebrew and Persian, in this order. Most Vietnamese
// words are two syllables, each a word here, so it has few. Hebrew words are given
// without article and prepositions. Thai words have two to nine characters.
//
//go:embed concepts_further.txt
var conceptsFurther string

// conceptOf maps the hash of a word, or of two or three characters, to its group;
// conceptOfStart the hash of the beginning of a word.
var conceptOf, conceptOfStart = readConcepts(concepts, conceptsElsewhere+conceptsEurope+conceptsFurther)

// minStart and maxStart are the lengths in which conceptsElsewhere and conceptsEurope
// give beginnings, in characters.
const (
	minStart = 3
	maxStart = 13
)

func readConcepts(groups, elsewhere string) (words, starts map[uint64]uint64) {
	words, starts = make(map[uint64]uint64), make(map[uint64]uint64)
	var buf [stem.Longest]rune
	group := rune(0)
	for line := range strings.Lines(strings.TrimSpace(groups)) {
		group++
		id := hashStep(hashStep(hashSeed, unicode.MaxRune+1), group)
		for word := range strings.FieldsSeq(line) {
			runes := folded(word)
			for _, h := range []uint64{hashWord(runes), hashWord(stem.EnglishRunes(buf[:0], runes))} {
				if _, ok := words[h]; !ok {
					words[h] = id
				}
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(elsewhere)) {
		var id uint64
		for i, word := range strings.Fields(line) {
			start, isStart := strings.CutSuffix(word, "-")
			runes := folded(start)
			into := words
			if isStart {
				into = starts
			}
			h := hashWord(runes)
			if i == 0 {
				id = words[h]
			} else if _, ok := into[h]; !ok {
				into[h] = id
			}
		}
	}
	return words, starts
}

// conceptOfWord returns the group of a word whose stem has the hash root: that of
// the whole word, otherwise of the longest beginning that has one.
func conceptOfWord(root uint64, word []rune) (group uint64, ok bool) {
	if group, ok = conceptOf[root]; ok {
		return group, true
	}
	if group, ok = conceptOfStartOf(word); !ok && len(word) > minStart && isHebrewPrefix(word[0]) {
		if group, ok = conceptOf[hashWord(word[1:])]; !ok {
			group, ok = conceptOfStartOf(word[1:])
		}
	}
	return group, ok
}

// isHebrewPrefix reports whether a letter may be a Hebrew article, preposition or
// conjunction, which are written as one word with what follows.
func isHebrewPrefix(r rune) bool {
	switch r {
	case 'ה', 'ב', 'ל', 'מ', 'ו', 'כ', 'ש':
		return true
	}
	return false
}

// conceptOfStartOf returns the group of the longest beginning of a word that has one.
func conceptOfStartOf(word []rune) (group uint64, ok bool) {
	h := uint64(hashSeed)
	for i, r := range word[:min(len(word), maxStart)] {
		if h = hashStep(h, r); i+1 >= minStart {
			if c, found := conceptOfStart[h]; found {
				group, ok = c, true
			}
		}
	}
	return group, ok
}
