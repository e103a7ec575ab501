package local

import "math"

// view is a way to look at a text. The features of a view are scaled to a
// common length on their own, so that none drowns the others.
type view uint8

const (
	viewWord view = iota // words; characters and pairs of them in scripts without spaces
	viewPair             // pairs of neighbouring words, with the ends of the message
	viewChar             // runs of 3 to 5 characters in a word
	numViews
)

// viewWeight is the length of each view's part of a feature vector.
var viewWeight = [numViews]float32{1, 1, 1}

const (
	hashSeed  = 0x9E3779B97F4A7C15
	hashPrime = 0x100000001B3
	hashEdge  = 0x2F // stands for the edge of a word or a message
)

func hashStep(h uint64, r rune) uint64 { return (h ^ uint64(r)) * hashPrime }

// hashEnd spreads the bits and puts the view in, so that "and" as a word and
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
}

// appendFeatures appends the features of t, with repetitions.
func appendFeatures(out []feature, t *text) []feature {
	prev := hashStep(hashSeed, hashEdge)
	skip := uint64(0)
	for _, tok := range t.tokens {
		runes := t.runes[tok.start:tok.end]
		switch tok.kind {
		case tokenWord, tokenSymbol:
			h := uint64(hashSeed)
			for _, r := range runes {
				h = hashStep(h, r)
			}
			out = append(out, feature{hashEnd(h, viewWord), viewWord}, feature{hashEnd(prev*31+h, viewPair), viewPair})
			if skip != 0 {
				out = append(out, feature{hashEnd(skip*37+h, viewPair), viewPair})
			}
			skip, prev = prev, h
			if tok.kind == tokenWord {
				out = appendRuns(out, runes)
			}
		case tokenHan:
			out = appendHan(out, runes)
			prev, skip = hashStep(hashSeed, hashEdge), 0
		}
	}
	if len(t.tokens) > 0 {
		out = append(out, feature{hashEnd(prev*31+hashStep(hashSeed, hashEdge), viewPair), viewPair})
	}
	return out
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
				out = append(out, feature{hashEnd(h, viewChar), viewChar})
			}
		}
	}
	return out
}

// appendHan appends the characters, pairs and triples of a run of characters
// of a script without spaces.
func appendHan(out []feature, run []rune) []feature {
	for i := range run {
		h := hashStep(hashSeed, run[i])
		out = append(out, feature{hashEnd(h, viewWord), viewWord})
		if i+1 < len(run) {
			h = hashStep(h, run[i+1])
			out = append(out, feature{hashEnd(h, viewWord), viewWord})
		}
		if i+2 < len(run) {
			h = hashStep(h, run[i+2])
			out = append(out, feature{hashEnd(h, viewChar), viewChar})
		}
	}
	return out
}

// dictionary numbers the features of the training texts. It is an open
// addressing table: a message asks it about a hundred times.
type dictionary struct {
	mask uint64
	keys []uint64 // 0 is free
	ids  []int32
	n    int32
}

func newDictionary(size int) *dictionary {
	slots := 16
	for slots < size*2 {
		slots *= 2
	}
	return &dictionary{mask: uint64(slots - 1), keys: make([]uint64, slots), ids: make([]int32, slots)}
}

// lookup returns the number of a feature, or -1.
func (d *dictionary) lookup(hash uint64) int32 {
	for i := hash & d.mask; ; i = (i + 1) & d.mask {
		switch d.keys[i] {
		case hash:
			return d.ids[i]
		case 0:
			return -1
		}
	}
}

// add returns the number of a feature, giving it the next one when it is new.
func (d *dictionary) add(hash uint64) int32 {
	if uint64(d.n)*4 > d.mask*3 {
		d.grow()
	}
	i := hash & d.mask
	for ; d.keys[i] != 0; i = (i + 1) & d.mask {
		if d.keys[i] == hash {
			return d.ids[i]
		}
	}
	d.keys[i], d.ids[i] = hash, d.n
	d.n++
	return d.n - 1
}

func (d *dictionary) grow() {
	bigger := newDictionary(len(d.keys))
	for i, key := range d.keys {
		if key == 0 {
			continue
		}
		j := key & bigger.mask
		for bigger.keys[j] != 0 {
			j = (j + 1) & bigger.mask
		}
		bigger.keys[j], bigger.ids[j] = key, d.ids[i]
	}
	bigger.n = d.n
	*d = *bigger
}

// inverseFrequency is the worth of a feature that k of n texts have.
func inverseFrequency(n, k int) float32 {
	return float32(math.Log(float64(n+1)/float64(k+1))) + 1
}
