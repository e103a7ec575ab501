package local

import (
	"slices"

	"intenthint/classify"
)

// Tried is an answer to a message that people wrote, and whether it was right.
type Tried struct {
	Trusted
	Right bool
	// Group is the kind of source, and Source the source: all groups weigh the same,
	// and so do the sources of a group.
	Group, Source string
}

// trustPrior leaves probabilities as they are; trustPrecision is its weight, in
// observations.
var trustPrior = logistic{trustChance: 1}

const trustPrecision = 1.0

// Try classifies a message, by words and, if e is not nil, by its vector, without
// what a [Trust] says of the answer.
func (m *Model) Try(in classify.Input, e *Embedded, vectors map[string][]float32) Trusted {
	var by *embedding
	if e != nil {
		by = &embedding{model: e, vectors: vectors}
	}
	sc := m.pool.Get().(*scratch)
	defer m.pool.Put(sc)
	v := m.verdictOn(sc, &in, nil, by)
	out := Trusted{Other: v.other(), Chance: v.confidence(), Vectors: v.seen.vectors, seen: v.seen}
	if v.first >= 0 {
		out.Intent = m.intents[v.first].ID
	}
	return out
}

// FitTrust returns the [Trust] that makes the outcomes of answers that name an intent
// most likely, each source counted alike.
func FitTrust(tried []Tried) Trust {
	var t Trust
	for _, vectors := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(tried), func(o Tried) bool { return o.Other || o.Vectors != vectors })
		l := fitLogistic(observed(some), func(o *observation) (hit, use bool) { return o.correct, true }, trustPrior, trustPrecision)
		if vectors {
			copy(t.Vectors[:], l[:])
		} else {
			copy(t.Words[:], l[:])
		}
	}
	return t
}

// observed weighs answers so that the groups have the weight of the smallest one each,
// and its sources equal parts of it.
func observed(tried []Tried) []observation {
	groups, sources := map[string]int{}, map[[2]string]int{}
	for _, o := range tried {
		groups[o.Group]++
		sources[[2]string{o.Group, o.Source}]++
	}
	parts := map[string]int{}
	for s := range sources {
		parts[s[0]]++
	}
	least := len(tried)
	for _, n := range groups {
		least = min(least, n)
	}
	out := make([]observation, 0, len(tried))
	for _, o := range tried {
		o.seen.chance(o.Chance)
		out = append(out, observation{
			signals: o.seen.signals, correct: o.Right,
			weight: float64(least) / float64(parts[o.Group]) / float64(sources[[2]string{o.Group, o.Source}]),
		})
	}
	return out
}

// Of returns how often such an answer is right.
func (t *Trust) Of(o Trusted) float64 { return t.of(&o.seen, o.Chance) }
