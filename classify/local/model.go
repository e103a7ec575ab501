package local

import (
	"math/bits"
	"slices"
	"sync"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/internal/text/stem"
)

// Model is a trained classifier. It is immutable and safe for concurrent use.
type Model struct {
	catalog  *intents.Catalog
	intents  []intents.Intent // of the root catalogue, by position
	samples  []sample
	around   *surroundings // of a thin catalogue, else nil
	knows    bool          // enough examples for a sure answer that nothing fits
	lexicon  *lexicon
	postings postings
	weights  weights
	inScope  logistic
	correct  logistic
	odds     float64  // see fallbackOdds
	trust    *Trust   // nil for a catalogue of one's own
	shipped  *shipped // nil for a model that was trained in this process
	judged   *judged  // nil while it is trained
	pool     sync.Pool
}

var _ classify.Local = (*Model)(nil)

// scratch is the memory of one classification.
type scratch struct {
	text   reading
	reply  reading // what the assistant said before the message
	feats  []feature
	ids    []int32
	values []float32
	views  []view
	worth  []float32
	scores []float32 // by intent, the last is the fallback's
	own    []float32 // the scores of the latest message while earlier ones are read
	alone  shares    // of the message that is weighed against the topic
	topic  shares    // of the topic
	seen   idSet     // the ids
	sums   []float32 // by row of a class, see [Model.nearest]
	rows   []int32   // of a class that have a feature
	lead   []float32 // weights of features by class
	chat   []float32 // by text of the background, see [surroundings.nearest]
	// known lists, by number, the features that a fold knows; nil for all.
	known []bool
	stem  [stem.Longest]rune
	// Worth of the message's words and runs: of all of them, and of the known
	// ones.
	words, knownWords, runs, knownRuns float32
	// strange is the squared worth of the compared features that are not known.
	strange float32
	nWords  int
}

const (
	maxEpochs  = 4  // through the training texts; more changes nothing
	foldEpochs = 1  // for a model that only forgets some of them
	numFolds   = 5  // a fifth of the intents, and of few texts, is held out
	heldOfMany = 10 // a tenth of many texts: what is left is nearly the catalogue
	// Costs of a wrong answer in training. A trigger describes messages and is not
	// a message itself, so it costs less than an example.
	exampleCost = 0.3
	triggerCost = 0.1
	// positiveCost is how much more an intent's own examples cost than those
	// of others, which are many.
	positiveCost = 10
	bayesWeight  = 0.02
	bayesPrior   = 0.3 // of the average class's features are put into every class
	// outOfScopeShare is the assumed share of messages that fit no intent when
	// confidence is learnt: one in eight, because an assistant is mostly used for
	// its purpose. Confidence holds from 10 to 60 % (decision 20).
	outOfScopeShare = 0.125
	// Messages that fit no intent are assumed to be like the fallback's examples,
	// or like intents that are missing. The former are at least a third of them,
	// and half of them if the fallback has fallbackPerIntent examples for each
	// intent: the space outside many intents takes many examples to describe.
	fallbackShare     = 1.0 / 3
	fallbackPerIntent = 5
	// maxFallback bounds the fallback's examples, in multiples of an intent's mean
	// number of texts: an intent with few texts would lose its messages to a
	// fallback with many. leastFallback are always used.
	maxFallback   = 4
	leastFallback = 16
	// fallbackOdds is how much likelier than the best intent the fallback must
	// be to be the answer.
	fallbackOdds = 1.7
	// surerOdds apply to a catalogue with manyExamples an intent and few for the
	// fallback, see fallbackPerIntent: it knows its intents far better than what
	// fits none (decision 20).
	surerOdds    = 2.5
	manyExamples = 50
	fewFallback  = 0.5
	// runnerUpSharpness turns differences of scores into odds among runners-up.
	runnerUpSharpness = 4
	// likely is the probability from which an intent is accepted.
	likely = 0.5
	// certain is the probability from which on an intent is believed of words that
	// usually close a topic, as of "good night" where that switches the lights off.
	certain = 0.9
	// possible is the probability from which on an intent is believed of what a message
	// itself wants, against that of the whole message.
	possible = 0.3
	// negligible is the probability of leaning on earlier messages below which
	// they are not read.
	negligible = 0.1
	// muchTheSame is the cosine of two messages that say the same in nearly the
	// same words.
	muchTheSame = 0.6
	// sameCosine is the cosine of a message that equals an example, up to
	// rounding; sameProbability is the probability of its intent.
	sameCosine      = 0.9995
	sameProbability = 0.97
	// maxLookBack is how many of the user's earlier messages may be read.
	maxLookBack = 5
	// priorPrecision is the weight of a guessed prior of the confidence, in
	// observations; learntPrecision that of a learnt one.
	priorPrecision  = 1.0
	learntPrecision = 2.0
)

// Priors of the confidence, for catalogues too small to learn it: averages over
// real messages and catalogues of 1 to 150 intents with 5 to 30 examples each.
var (
	inScopePrior = logistic{-3, 1.5, 0.9, 4.4, 0.6, 2.6, -0.3, 0.2, 0}
	correctPrior = logistic{-1.1, 0.5, 3.4, -0.2, 0.7, -0.7, -1.1, 0.45, 0}
)

// Train trains a model on the intents of the catalogue's root and the examples
// of its fallback. Equal catalogues give equal models. On two cores it takes 1.5 s
// for 150 intents of 100 examples each, and 0.3 s for the built-in intents, for
// which the result of training is shipped.
func Train(cat *intents.Catalog) *Model {
	m := newModel(cat)
	if found := shippedFor(m.samples); found != nil {
		m.use(found)
	} else {
		m.train()
	}
	m.judged = newJudged()
	return m
}

func (m *Model) train() {
	s := m.learn()
	s.run(maxEpochs, 1, nil)
	m.calibrate(s)
	m.weights = newWeights(s, m.lexicon.nCommon)
}

// Trained is [Train], but trains the model of the built-in intents only once
// per process.
func Trained(cat *intents.Catalog) *Model {
	if cat.Root() == intents.Bundled() {
		return bundled()
	}
	return Train(cat)
}

var bundled = sync.OnceValue(func() *Model { return Train(intents.Bundled()) })

// newModel returns a model of a catalogue that has learnt nothing.
func newModel(cat *intents.Catalog) *Model {
	root := cat.Root()
	m := &Model{catalog: root, intents: root.Enabled(), samples: samplesOf(root), trust: trustFor(root), knows: true}
	m.pool.New = func() any { return m.newScratch() }
	m.odds = oddsFor(m.samples, len(m.intents))
	if isThin(root) {
		m.around, m.knows = surround(root, m.samples), examplesOf(root) >= fewestExamples*len(m.intents)
	}
	return m
}

// learn learns the features of the texts, and returns the solver that finds their
// weights.
func (m *Model) learn() *solver {
	var chat *background
	if m.around != nil {
		chat = m.around.background
	}
	sp := newSpace(m.samples, len(m.intents), chat)
	m.lexicon, m.postings = sp.lexicon, newPostings(sp, firstRows(m.samples, len(m.intents)))
	s := newSolver(sp.rows, sp.nShared, len(m.intents)+1)
	s.outside = len(m.intents)
	return s
}

func samplesOf(root *intents.Catalog) []sample {
	var out []sample
	more := make([][]string, len(root.Enabled()))
	if isThin(root) {
		more = described(root)
	}
	for i, in := range root.Enabled() {
		for _, e := range in.Examples {
			out = append(out, sample{text: e, class: int32(i)})
		}
		for _, e := range in.Learnt {
			out = append(out, sample{text: e, class: int32(i), learnt: true})
		}
		for _, t := range in.Triggers {
			for _, a := range assertions(t) {
				out = append(out, sample{text: a, class: int32(i), trigger: true})
			}
		}
		for _, d := range more[i] {
			if key := Normalize(d); key != "" && !slices.ContainsFunc(in.Triggers, func(t string) bool { return Normalize(t) == key }) {
				out = append(out, sample{text: d, class: int32(i), trigger: true})
			}
		}
	}
	most := max(leastFallback, maxFallback*len(out)/max(1, len(root.Enabled())))
	fallback := root.Fallback()
	for _, e := range slices.Concat(someOf(fallback.Examples, most), fallback.Learnt) {
		out = append(out, sample{text: e, class: -1})
	}
	return out
}

// someOf returns at most most of the texts. The selection is stable: it does
// not depend on the other texts, and hardly changes when most changes a little.
func someOf(texts []string, most int) []string {
	if len(texts) <= most {
		return texts
	}
	most = 1 << (bits.Len(uint(most)) - 1)
	hashes := make([]uint64, len(texts))
	for i, text := range texts {
		hashes[i] = hashSeed
		for _, r := range text {
			hashes[i] = hashStep(hashes[i], r)
		}
		hashes[i] = hashEnd(hashes[i], viewWord)
	}
	limit := slices.Sorted(slices.Values(hashes))[most-1]
	var out []string
	for i, text := range texts {
		if hashes[i] <= limit {
			out = append(out, text)
		}
	}
	return out
}

func (m *Model) newScratch() *scratch {
	return &scratch{scores: make([]float32, len(m.intents)+1), lead: make([]float32, len(m.intents)+1)}
}

// read turns messages into one vector in sc.
func (m *Model) read(sc *scratch, messages ...string) {
	sc.text.reset(messages...)
	sc.feats = appendFeatures(sc.feats[:0], &sc.text)
	sc.ids, sc.views, sc.worth = sc.ids[:0], sc.views[:0], sc.worth[:0]
	sc.seen.reset(len(sc.feats))
	sc.words, sc.knownWords, sc.runs, sc.knownRuns, sc.strange, sc.nWords = 0, 0, 0, 0, 0, 0
	for i := range sc.feats {
		f := &sc.feats[i]
		id, worth := m.lexicon.lookup(f)
		if id >= 0 && sc.known != nil && !sc.known[id] {
			id = -1
		}
		if id >= 0 {
			if !sc.seen.add(id) {
				continue
			}
			sc.ids, sc.views, sc.worth = append(sc.ids, id), append(sc.views, f.view), append(sc.worth, worth)
		} else if worth = m.lexicon.ofUnknown(f); f.view.compared() {
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
	sc.values = append(sc.values[:0], sc.worth...)
	scale(sc.views, sc.values)
}

// idSet is a set of ids in an open addressing table. 0 is a free place, so ids are
// stored plus one.
type idSet []int32

// reset empties the set and makes room for n ids.
func (s *idSet) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	*s = slices.Grow((*s)[:0], size)[:size]
	clear(*s)
}

// add reports whether id was not in the set, and adds it.
func (s idSet) add(id int32) bool {
	mask := len(s) - 1
	i := int(id) & mask
	for s[i] != 0 {
		if s[i] == id+1 {
			return false
		}
		i = (i + 1) & mask
	}
	s[i] = id + 1
	return true
}

func score(out []float32, blocks []block, ids []int32, values []float32) {
	for i := range blocks {
		b := &blocks[i]
		b.score(out[b.first:b.first+b.width], ids, values)
	}
}

// top returns the best and the second best of the allowed classes, nil for
// all; -1 if there is no such class.
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
