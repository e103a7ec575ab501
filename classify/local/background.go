package local

import (
	"sync"

	"intenthint/intents"
)

// background is what people say to an assistant in general: some examples of
// each built-in intent, in all languages. A thin catalogue (see [thin]) cannot
// tell by itself which words are common, nor what lies beside its own subjects.
type background struct {
	texts  []string
	intent []string // by text: the id of its built-in intent
	groups int      // how many built-in intents there are, with the fallback
	// users counts, by the hash of a feature, the built-in intents that have it; a
	// feature of fewer than fewUsers is not in it.
	users map[uint64]uint16
	rows  map[uint64][]rowValue // by the hash of a compared feature
}

// rowValue is the value of a feature in a text.
type rowValue struct {
	row   int32
	value float32
}

const (
	// backgroundPerIntent is how many texts of an intent are in the background, of
	// some 700: four times as many find one more of a hundred strange messages and
	// take four times the memory.
	backgroundPerIntent = 64
	fewUsers            = 2
	// likeOwn is the cosine from which a text of the background counts as a message
	// of the catalogue's own intents.
	likeOwn = 0.45
)

// generalChat is the background of all catalogues in this process. It is read on
// first use, in about 50 ms of one processor.
var generalChat = sync.OnceValue(func() *background { return newBackground(intents.Bundled()) })

func newBackground(cat *intents.Catalog) *background {
	b := &background{users: make(map[uint64]uint16), rows: make(map[uint64][]rowValue)}
	var (
		t     reading
		feats [][]feature
	)
	all := append([]intents.Intent{cat.Fallback()}, cat.Enabled()...)
	b.groups = len(all)
	for _, in := range all {
		had := make(map[uint64]struct{})
		for _, text := range someOf(in.Examples, backgroundPerIntent) {
			t.reset(text)
			found := appendFeatures(nil, &t)
			for _, f := range found {
				if _, again := had[f.hash]; !again {
					had[f.hash] = struct{}{}
					b.users[f.hash]++
				}
			}
			b.texts, b.intent, feats = append(b.texts, text), append(b.intent, in.ID), append(feats, found)
		}
	}
	for row, found := range feats {
		b.compared(found, func(hash uint64, value float32) {
			b.rows[hash] = append(b.rows[hash], rowValue{int32(row), value})
		})
	}
	for hash, n := range b.users {
		if n < fewUsers {
			delete(b.users, hash)
		}
	}
	return b
}

// compared calls do for the features that are compared, each once, as a vector
// of length 1.
func (b *background) compared(feats []feature, do func(hash uint64, value float32)) {
	var (
		hashes []uint64
		views  []view
		values []float32
	)
	seen := make(map[uint64]struct{}, len(feats))
	for _, f := range feats {
		if _, again := seen[f.hash]; again || !f.view.compared() {
			continue
		}
		seen[f.hash] = struct{}{}
		hashes, views = append(hashes, f.hash), append(views, f.view)
		values = append(values, f.weight*inverseFrequency(b.groups, b.usersOf(f.hash)))
	}
	norm := sqrt32(scale(views, values))
	for i, hash := range hashes {
		do(hash, values[i]/norm)
	}
}

// usersOf returns how many built-in intents have a feature; one that none or one
// has counts as one.
func (b *background) usersOf(hash uint64) int { return max(fewUsers-1, int(b.users[hash])) }

// cosines adds to sums, by text, the products of the text and the features.
func (b *background) cosines(sums []float32, feats []feature) {
	b.compared(feats, func(hash uint64, value float32) {
		for _, r := range b.rows[hash] {
			sums[r.row] += value * r.value
		}
	})
}

// surroundings is the background of one catalogue: what is not like its own
// texts.
type surroundings struct {
	*background
	own []bool // by text of the background: it is like the catalogue's own texts
}

// surround returns the surroundings of a catalogue. A built-in intent whose id the
// catalogue has, too, is its own.
func surround(root *intents.Catalog, samples []sample) *surroundings {
	s := &surroundings{background: generalChat()}
	s.own = make([]bool, len(s.texts))
	for i, id := range s.intent {
		_, same := root.Lookup(id)
		s.own[i] = same && id != intents.FallbackID
	}
	var (
		t     reading
		feats []feature
	)
	sums := make([]float32, len(s.texts))
	for _, sm := range samples {
		if sm.class < 0 {
			continue
		}
		t.reset(sm.text)
		feats = appendFeatures(feats[:0], &t)
		clear(sums)
		s.cosines(sums, feats)
		for i, cosine := range sums {
			s.own[i] = s.own[i] || cosine >= likeOwn
		}
	}
	return s
}

// nearest returns the greatest cosine of a message, by its features, to a text of
// the surroundings. sums is memory for it, which is returned.
func (s *surroundings) nearest(feats []feature, sums []float32) (cosine float32, memory []float32) {
	if cap(sums) < len(s.texts) {
		sums = make([]float32, len(s.texts))
	}
	sums = sums[:len(s.texts)]
	clear(sums)
	s.cosines(sums, feats)
	for i, sum := range sums {
		if !s.own[i] {
			cosine = max(cosine, sum)
		}
	}
	return cosine, sums
}
