package local

import (
	"sync"

	"intenthint/classify"
	"intenthint/intents"
)

// Model is a trained classifier. It is immutable and safe for concurrent use.
type Model struct {
	catalog  *intents.Catalog
	intents  []intents.Intent // of the root catalogue, by position
	space    *space
	blocks   []block
	examples examples
	inScope  logistic
	correct  logistic
	pool     sync.Pool
}

var _ classify.Local = (*Model)(nil)

// scratch is the memory of one classification.
type scratch struct {
	text   reading
	feats  []feature
	ids    []int32
	values []float32
	scores []float32
	// dense holds the values of the message by feature, 0 for those it has not;
	// it is zero between classifications.
	dense   []float32
	covered []int32
	stem    [maxStem]rune
	// Worth of the message's words and runs: all of it, and what is known.
	words, knownWords, runs, knownRuns float32
	// strange is the squared worth of what is compared and not known.
	strange float32
	nWords  int
}

const (
	maxEpochs   = 4  // through the training texts; more changes nothing
	babbleShare = 20 // one in so many observations is of a message of made-up words
	foldEpochs  = 1  // for a model that only forgets some of them
	numFolds    = 5  // a fifth of the texts, and of the intents, is held out
	// What a wrong answer costs in training. A trigger describes messages, it is
	// none, so it counts for less than an example.
	exampleCost = 0.3
	triggerCost = 0.1
	// positiveCost is how much more an intent's own examples cost than those
	// of others, which are many.
	positiveCost = 10
	bayesWeight  = 0.02
	bayesPrior   = 0.3 // of the average class's features are put into every class
	// outOfScopeShare is the part of messages that is taken to fit no intent
	// when confidence is learnt.
	outOfScopeShare = 0.1
	// fallbackOdds is how much likelier than the best intent the fallback must
	// be to be the answer.
	fallbackOdds = 1.7
	// runnerUpSharpness turns differences of scores into odds among runners-up.
	runnerUpSharpness = 4
	// continuity is the chance that a follow-up stays with its subject, for
	// each earlier message that had to be looked at.
	continuity = 0.9
	// A short message stands alone when its intent is likely, and one that says
	// itself that it goes on when its intent is certain.
	likely, certain = 0.5, 0.9
	// muchTheSame is the cosine of two messages that say the same in words that
	// hardly differ.
	muchTheSame = 0.6
	// sameCosine is that of a message that is an example, but for rounding, and
	// sameProbability that of its intent.
	sameCosine      = 0.9995
	sameProbability = 0.97
	// maxLookBack is how many of the user's earlier messages may be looked at.
	maxLookBack = 5
	// priorPrecision is how many observations' worth of certainty the prior of
	// the confidence has when it was guessed, learntPrecision when it was learnt.
	priorPrecision  = 1.0
	learntPrecision = 2.0
)

// What the confidence starts from, for catalogues too small to learn it: what
// it is for real messages, in the middle of catalogues of 1 to 150 intents with
// 5 to 30 examples each.
var (
	inScopePrior = logistic{-3, 1.5, 0.9, 4.4, 0.6, 2.6, -0.3, 0.2}
	correctPrior = logistic{-1.1, 0.5, 3.4, -0.2, 0.7, -0.7, -1.1, 0.45}
)

// Train trains a model on the intents of the catalogue's root and the examples
// of its fallback. Equal catalogues give equal models. It takes 0.1 s for the
// bundled catalogue and 1.5 s for 150 intents of 100 examples each, on two cores.
func Train(cat *intents.Catalog) *Model {
	m, s, samples := train(cat)
	m.calibrate(s, samples)
	m.blocks = s.finish(int(m.space.dict.n))
	return m
}

// train returns a model that lacks its weights and its calibration, and the
// solver that has found the former.
func train(cat *intents.Catalog) (*Model, *solver, []sample) {
	root := cat.Root()
	m := &Model{catalog: root, intents: root.Enabled()}
	m.pool.New = func() any { return m.newScratch() }
	samples := samplesOf(m.catalog)
	sp, rows := newSpace(samples, len(m.intents))
	m.space = sp
	m.examples = newExamples(samples, len(m.intents), sp, rows)
	s := newSolver(rows, sp.shared, len(m.intents))
	s.run(maxEpochs, 1, nil)
	return m, s, samples
}

func samplesOf(root *intents.Catalog) []sample {
	var out []sample
	for i, in := range root.Enabled() {
		for _, e := range in.Examples {
			out = append(out, sample{text: e, class: int32(i), cost: exampleCost})
		}
		for _, t := range in.Triggers {
			for _, a := range assertions(t) {
				out = append(out, sample{text: a, class: int32(i), cost: triggerCost, trigger: true})
			}
		}
	}
	for _, e := range root.Fallback().Examples {
		out = append(out, sample{text: e, class: -1, cost: exampleCost})
	}
	return out
}

func (m *Model) newScratch() *scratch {
	return &scratch{
		scores: make([]float32, len(m.intents)),
		dense:  make([]float32, m.space.dict.n),
	}
}

// read turns messages into one vector in sc. What is in sc.dense must be taken
// out again with clear.
func (m *Model) read(sc *scratch, messages ...string) {
	sc.text.reset(messages...)
	sc.feats = appendFeatures(sc.feats[:0], &sc.text)
	sc.ids, sc.values = sc.ids[:0], sc.values[:0]
	sc.words, sc.knownWords, sc.runs, sc.knownRuns, sc.strange, sc.nWords = 0, 0, 0, 0, 0, 0
	for _, f := range sc.feats {
		id := m.space.dict.lookup(f.hash)
		worth := m.space.unknown * f.weight
		if id >= 0 {
			if sc.dense[id] != 0 {
				continue
			}
			worth = m.space.worth[id]
			sc.dense[id] = worth
			sc.ids, sc.values = append(sc.ids, id), append(sc.values, worth)
		} else if f.view.compared() {
			sc.strange += worth * worth
		}
		switch f.view {
		case viewWord:
			sc.nWords++
			sc.words += worth
			if id >= 0 {
				sc.knownWords += worth
			}
		case viewChar:
			sc.runs += worth
			if id >= 0 {
				sc.knownRuns += worth
			}
		}
	}
	m.space.scale(sc.ids, sc.values)
	for k, id := range sc.ids {
		sc.dense[id] = sc.values[k]
	}
}

func (sc *scratch) clear() {
	for _, id := range sc.ids {
		sc.dense[id] = 0
	}
}

func score(out []float32, blocks []block, ids []int32, values []float32) {
	for i := range blocks {
		b := &blocks[i]
		dot(out[b.first:b.first+b.width], b.weights, ids, values)
	}
}

// top returns the best and the second best of the allowed classes, nil for
// all; -1 for none.
func top(scores []float32, allowed []bool) (first, second int) {
	first, second = -1, -1
	for c, s := range scores {
		if allowed != nil && (c >= len(allowed) || !allowed[c]) {
			continue
		}
		switch {
		case first < 0 || s > scores[first]:
			first, second = c, first
		case second < 0 || s > scores[second]:
			second = c
		}
	}
	return first, second
}
