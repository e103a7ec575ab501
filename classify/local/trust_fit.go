package local

import "intenthint/classify"

// Tried is an answer to a message that people wrote, and whether it was right.
type Tried struct {
	Trusted
	Right bool
	// Strange: the message fits no intent. All such messages are [strangeShare] of the
	// whole.
	Strange bool
	// Group is the kind of source, and Source the source: all groups weigh the same,
	// and so do the sources of a group.
	Group, Source string
}

// strangeShare is the assumed share of messages that fit no intent. With one in eight, as
// for a catalogue's own confidence ([outOfScopeShare]), a fifth more of them get a hint
// that names an intent, and people half a point more right ones; with none, 14.5 of 100
// get one instead of 8 (decision 20).
const strangeShare = 1.0 / 6

// trustPrior leaves probabilities as they are; trustPrecision is its weight, in
// observations.
var trustPrior = logistic{trustChance: 1}

const trustPrecision = 1.0 // one observation: the prior only decides where there are none

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
// most likely, each source counted alike. tried has the other answers as well: how many
// messages a source has is known by all of them.
func FitTrust(tried []Tried) Trust {
	var t Trust
	all := observed(tried)
	for _, vectors := range []bool{false, true} {
		var some []observation
		for i := range tried {
			if o := &tried[i]; !o.Other && o.Vectors == vectors {
				some = append(some, all[i])
			}
		}
		l := fitLogistic(some, func(o *observation) (hit, use bool) { return o.correct, true }, trustPrior, trustPrecision)
		if vectors {
			copy(t.Vectors[:], l[:])
		} else {
			copy(t.Words[:], l[:])
		}
	}
	return t
}

// observed weighs answers so that the groups have the weight of the smallest one each,
// its sources equal parts of it, and the messages that fit nothing their share.
func observed(tried []Tried) []observation {
	groups, sources, strange := map[string]int{}, map[[2]string]int{}, 0
	for i := range tried {
		if o := &tried[i]; o.Strange {
			strange++
		} else {
			groups[o.Group]++
			sources[[2]string{o.Group, o.Source}]++
		}
	}
	parts := map[string]int{}
	for s := range sources {
		parts[s[0]]++
	}
	least := len(tried)
	for _, n := range groups {
		least = min(least, n)
	}
	ofStrange := float64(least*len(groups)) * strangeShare / (1 - strangeShare) / float64(max(strange, 1))
	out := make([]observation, len(tried))
	for i := range tried {
		o := &tried[i]
		seen := o.seen
		seen.chance(o.Chance)
		weight := ofStrange
		if !o.Strange {
			weight = float64(least) / float64(parts[o.Group]) / float64(sources[[2]string{o.Group, o.Source}])
		}
		out[i] = observation{signals: seen.signals, correct: o.Right, weight: weight}
	}
	return out
}

// Of returns how often such an answer is right.
func (t *Trust) Of(o Trusted) float64 { return t.of(&o.seen, o.Chance) }
