package local

import (
	"math"
	"math/bits"
	"slices"

	"intenthint/internal/text/stem"
)

// view is a way to look at a text. The features of a view are scaled to a
// common length on their own, so that no view dominates.
type view uint8

const (
	viewWord    view = iota // words and their stems; characters and pairs of them in scripts without spaces
	viewPair                // pairs of neighbouring words, and the ends of the message
	viewChar                // runs of 3 to 5 characters in a word
	viewConcept             // what the words are about, and pairs of that
	viewCompany             // pairs of words wherever they stand, each by its concept when it has one
	numViews
)

// compared reports whether single examples are compared in this view. The other
// views hold most of the features and add nothing to the comparison.
func (v view) compared() bool { return v != viewChar && v != viewCompany }

// viewWeight is the length of each view's part of a feature vector.
var viewWeight = [numViews]float32{1, 0.7, 1, 1.15, 1}

// The worth of a single concept relative to a pair of concepts.
const conceptWeight = 1.5

// The hash of features, FNV-1a from another start: the weights are stored by it.
const (
	hashSeed  = 0x9E3779B97F4A7C15
	hashPrime = 0x100000001B3
	hashEdge  = 0x2F // stands for the edge of a word or a message
)

func hashStep(h uint64, r rune) uint64 { return (h ^ uint64(r)) * hashPrime }

// hashEnd spreads the bits and mixes in the view, so that "and" as a word and
// "and" as a run of characters are two features.
func hashEnd(h uint64, v view) uint64 {
	h ^= uint64(v+1) << 56
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	h ^= h >> 32
	if h == 0 {
		return 1
	}
	return h
}

// feature is one property of a text, by its hash.
type feature struct {
	hash uint64
	view view
	// weight is the feature's worth relative to others that are equally rare.
	weight float32
}

// newFeature returns a feature of the usual weight.
func newFeature(hash uint64, v view) feature { return feature{hashEnd(hash, v), v, 1} }

func newConcept(concept uint64) feature {
	return feature{hashEnd(concept, viewConcept), viewConcept, conceptWeight}
}

// appendFeatures appends the features of t, with repetitions.
func appendFeatures(out []feature, t *reading) []feature {
	var (
		edge     = hashStep(hashSeed, hashEdge)
		prev     = edge
		buf      [stem.Longest]rune
		concepts earlier
		company  earlier
	)
	for _, tok := range t.tokens {
		runes := t.runes[tok.start:tok.end]
		if tok.kind == tokenHan {
			out = appendHan(out, runes, &concepts)
			prev = edge
			continue
		}
		var h uint64
		out, h = appendWord(out, tok.kind, runes, buf[:0])
		out = append(out, newFeature(prev*31+h, viewPair))
		prev = h
		if c, ok := conceptOfWord(h, runes); ok {
			out = appendConcept(out, c, &concepts)
			h = c
		}
		out = company.appendPairs(out, h, viewCompany)
	}
	if len(t.tokens) > 0 {
		out = append(out, newFeature(prev*31+edge, viewPair))
	}
	return out
}

// appendWord appends a word or symbol, and of a word its runs of characters and
// its stem, which is written into buf. It returns the hash of the stem; a symbol
// is its own stem.
func appendWord(out []feature, kind tokenKind, word, buf []rune) ([]feature, uint64) {
	h := hashWord(word)
	out = append(out, newFeature(h, viewWord))
	if kind != tokenWord {
		return out, h
	}
	out = appendRuns(out, word)
	root := hashWord(stem.EnglishRunes(buf, word))
	if root != h {
		out = append(out, newFeature(root, viewWord))
	}
	return out, root
}

func hashWord(word []rune) uint64 {
	h := uint64(hashSeed)
	for _, r := range word {
		h = hashStep(h, r)
	}
	return h
}

// earlier holds the first words, or concepts, of a message, which are paired with
// the later ones.
type earlier struct {
	n    int
	list [12]uint64
}

func (e *earlier) has(item uint64) bool { return slices.Contains(e.list[:e.n], item) }

// appendPairs appends the pairs of an item with those before it, in any order,
// and remembers the item.
func (e *earlier) appendPairs(out []feature, item uint64, v view) []feature {
	for _, other := range e.list[:e.n] {
		out = append(out, newFeature(min(item, other)*41+max(item, other), v))
	}
	if e.n < len(e.list) {
		e.list[e.n] = item
		e.n++
	}
	return out
}

// appendConcept appends a concept and its pairs with those before it.
func appendConcept(out []feature, concept uint64, before *earlier) []feature {
	if before.has(concept) {
		return out
	}
	out = append(out, newConcept(concept))
	return before.appendPairs(out, concept, viewConcept)
}

// appendRuns appends the runs of 3 to 5 characters of a word and its edges.
func appendRuns(out []feature, word []rune) []feature {
	for i := -1; i < len(word)-1; i++ {
		h := uint64(hashSeed)
		for n := range 5 {
			j := i + n
			if j > len(word) {
				break
			}
			if j < 0 || j == len(word) {
				h = hashStep(h, hashEdge)
			} else {
				h = hashStep(h, word[j])
			}
			if n >= 2 {
				out = append(out, newFeature(h, viewChar))
			}
		}
	}
	return out
}

// appendHan appends the characters, pairs and triples of a run of characters
// of a script without spaces.
func appendHan(out []feature, run []rune, concepts *earlier) []feature {
	for i := range run {
		h := hashStep(hashSeed, run[i])
		out = append(out, newFeature(h, viewWord))
		if isThai(run[i]) {
			out = appendThaiConcepts(out, run, i, concepts)
		}
		if i+1 < len(run) {
			h = hashStep(h, run[i+1])
			out = append(out, newFeature(h, viewWord))
			if c, ok := conceptOf[h]; ok && !isThai(run[i]) {
				out = appendConcept(out, c, concepts)
			}
		}
		if i+2 < len(run) {
			h = hashStep(h, run[i+2])
			out = append(out, newFeature(h, viewChar))
			if c, ok := conceptOf[h]; ok && !isThai(run[i]) {
				out = appendConcept(out, c, concepts)
			}
		}
	}
	return out
}

// longestThai is the length of the longest Thai words in the groups of concepts, in
// characters.
const longestThai = 14

// appendThaiConcepts appends the concepts of the Thai words that begin at i. Thai is an
// alphabet: its words are longer than those of Chinese, and neither begin behind a
// vowel that is written before its consonant nor end before a sign above or below one.
func appendThaiConcepts(out []feature, run []rune, i int, concepts *earlier) []feature {
	if i > 0 && isThaiVowelBefore(run[i-1]) || isThaiSign(run[i]) {
		return out
	}
	h := uint64(hashSeed)
	for end := i; end < min(len(run), i+longestThai); {
		h = hashStep(h, run[end])
		if end++; end < len(run) && isThaiSign(run[end]) {
			continue
		}
		if c, ok := conceptOf[h]; ok {
			out = appendConcept(out, c, concepts)
		}
	}
	return out
}

func isThai(r rune) bool { return r >= 0x0E00 && r <= 0x0E7F }

func isThaiVowelBefore(r rune) bool { return r >= 0x0E40 && r <= 0x0E44 }

// isThaiSign reports whether a character is a vowel or mark behind, above or below its
// consonant.
func isThaiSign(r rune) bool { return r >= 0x0E30 && r <= 0x0E3A || r >= 0x0E45 && r <= 0x0E4E }

// dictionary numbers the features of the training texts as they come. It is an open
// addressing table.
type dictionary struct {
	entries []entry
	n       int32
}

// entry is a feature with its number; hash 0 is a free place.
type entry struct {
	hash uint64
	id   int32
}

// newDictionary returns a dictionary with room for n features, of whose places a
// third stays free.
func newDictionary(n int) *dictionary {
	return &dictionary{entries: make([]entry, max(16, n+n/2))}
}

// slot returns the place of a feature, or the free one where it belongs.
func (d *dictionary) slot(hash uint64) *entry {
	i, _ := bits.Mul64(hash, uint64(len(d.entries)))
	for {
		if e := &d.entries[i]; e.hash == 0 || e.hash == hash {
			return e
		}
		if i++; i == uint64(len(d.entries)) {
			i = 0
		}
	}
}

// add returns the number of a feature, giving it the next one when it is new.
func (d *dictionary) add(hash uint64) int32 {
	if int(d.n)*4 > len(d.entries)*3 {
		bigger := newDictionary(2 * int(d.n))
		for _, e := range d.entries {
			if e.hash != 0 {
				bigger.put(e.hash, e.id)
			}
		}
		*d = *bigger
	}
	e := d.slot(hash)
	if e.hash == 0 {
		*e = entry{hash: hash, id: d.n}
		d.n++
	}
	return e.id
}

// put adds a feature that is new; there must be room.
func (d *dictionary) put(hash uint64, id int32) {
	*d.slot(hash) = entry{hash: hash, id: id}
	d.n++
}

// inverseFrequency returns the worth of a feature that k of n texts have.
func inverseFrequency(n, k int) float32 {
	return float32(math.Log(float64(n+1)/float64(k+1))) + 1
}
