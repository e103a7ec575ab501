package local

import (
	_ "embed"
	"strings"
)

// phrases are the words that show how a message relates to earlier ones, by the
// hash of their folded form, with single spaces between words.
var phrases = phraseTable(phraseLists)

// phraseLists are lists of phrases, separated by commas, each below the name of its
// role. Words that mean something else in a language above are left out.
//
//go:embed phrases.txt
var phraseLists string

// roleNames are the roles of the lists, by the lines that begin them.
var roleNames = map[string]role{
	"[small]": roleSmall, "[answer]": roleAnswer, "[assent]": roleAssent, "[thanks]": roleThanks, "[bye]": roleBye,
	"[greet]": roleGreet, "[goes on]": roleGoesOn, "[refers]": roleRefers, "[aside]": roleAside,
}

// phraseBits has a bit for each phrase, by its hash: most word sequences are
// not phrases, and the bits avoid a map look-up for them.
var phraseBits = func() (bits [1024]uint64) {
	for h := range phrases {
		i := phraseBit(h)
		bits[i/64] |= 1 << (i % 64)
	}
	return bits
}()

func phraseBit(h uint64) uint64 { return (h ^ h>>29) * 0xBF58476D1CE4E5B9 >> 48 }

// roleOf returns the role of the phrase with a hash, 0 for an unknown one.
func roleOf(h uint64) role {
	if i := phraseBit(h); phraseBits[i/64]>>(i%64)&1 == 0 {
		return 0
	}
	return phrases[h]
}

// phraseTable reads lists of phrases.
func phraseTable(lists string) map[uint64]role {
	table, current := make(map[uint64]role), role(0)
	for line := range strings.Lines(lists) {
		if r, ok := roleNames[strings.TrimSpace(line)]; ok {
			current = r
			continue
		}
		addPhrases(table, current, line)
	}
	return table
}

func addPhrases(table map[uint64]role, r role, list string) {
	var t reading
	for phrase := range strings.SplitSeq(list, ",") {
		t.reset(phrase)
		h := uint64(hashSeed)
		for i, tok := range t.tokens {
			if i > 0 && tok.kind == tokenWord {
				h = hashStep(h, ' ')
			}
			for _, x := range t.runes[tok.start:tok.end] {
				h = hashStep(h, x)
			}
		}
		if len(t.tokens) > 0 {
			table[h] |= r
		}
	}
}

// wordSet reads a list of words into a set of their hashes.
func wordSet(words string) map[uint64]struct{} {
	set := make(map[uint64]struct{})
	for w := range strings.FieldsSeq(words) {
		set[hashWord(folded(w))] = struct{}{}
	}
	return set
}

// folded returns the characters of a word in the form that is compared.
func folded(word string) []rune {
	out := make([]rune, 0, len(word))
	for _, r := range word {
		if r = compared(r); r >= 0 {
			out = append(out, r)
		}
	}
	return out
}
