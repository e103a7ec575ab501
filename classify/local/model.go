// Package local classifies messages in this process, with a linear model that
// is trained from the triggers and examples of a catalogue when it is loaded.
package local

import (
	"math"
	"slices"
	"sync"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
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
	text   text
	feats  []feature
	ids    []int32
	values []float32
	scores []float32
	// dense holds the values of the message by feature, 0 for those it has not;
	// it is zero between classifications.
	dense   []float32
	covered []int32
	// Worth of the message's words and runs: all of it, and what is known.
	words, knownWords, runs, knownRuns float32
	nWords                             int
}

// examples are the training rows as the nearest-example search reads them:
// words and pairs only, the rows of a class together.
type examples struct {
	firstRow []int32 // by class; one more at the end
	starts   []int32 // by row; one more at the end
	ids      []int32
	values   []float32
	reasons  []string // by row; "" for triggers
	texts    []string
}

const (
	maxEpochs  = 6 // through the training texts; more changes nothing
	foldEpochs = 2 // for a model that only forgets some of them
	numFolds   = 5
	// What a wrong answer costs in training. A trigger describes messages, it is
	// none, so it counts for less than an example.
	exampleCost = 0.3
	triggerCost = 0.15
	// positiveCost is how much more an intent's own examples cost than those
	// of others, which are many.
	positiveCost = 10
	bayesWeight  = 0.02
	bayesPrior   = 0.3 // of the average class's features are put into every class
	// outOfScopeShare is the part of messages that is taken to fit no intent
	// when confidence is learnt.
	outOfScopeShare = 0.2
	// priorPrecision is how many observations' worth of certainty the prior of
	// the confidence has.
	priorPrecision = 1.0
)

// What the confidence starts from, for catalogues too small to learn it.
var (
	inScopePrior = logistic{-2.5, 1, 0.7, 1.2, 0, 0.5, 1.8, 0.7}
	correctPrior = logistic{-2.5, 1, 2.5, 0, 0, 0, 1, 0.8}
)

// Train trains a model on the intents of the catalogue's root and the examples
// of its fallback. Equal catalogues give equal models.
func Train(cat *intents.Catalog) *Model {
	root := cat.Root()
	m := &Model{catalog: root, intents: root.Enabled()}
	samples := samplesOf(root)
	sp, rows := newSpace(samples, len(m.intents))
	m.space = sp
	m.examples = newExamples(sp, rows, samples, len(m.intents))
	s := newSolver(rows, int(sp.dict.n), len(m.intents), positiveCost)
	s.run(maxEpochs, 1, nil)
	m.pool.New = func() any { return m.newScratch() }
	m.calibrate(s, samples)
	s.bayes(nil)
	m.blocks = s.blocks
	for i := range m.blocks {
		m.blocks[i].alpha = nil
	}
	return m
}

func samplesOf(root *intents.Catalog) []sample {
	var out []sample
	for i, in := range root.Enabled() {
		for _, e := range in.Examples {
			out = append(out, sample{text: e, class: int32(i), cost: exampleCost})
		}
		for _, t := range in.Triggers {
			out = append(out, sample{text: t, class: int32(i), cost: triggerCost, trigger: true})
		}
	}
	for _, e := range root.Fallback().Examples {
		out = append(out, sample{text: e, class: -1, cost: exampleCost})
	}
	return out
}

func newExamples(sp *space, rows *corpus, samples []sample, classes int) examples {
	e := examples{firstRow: make([]int32, classes+1), starts: make([]int32, 1, len(samples)+1)}
	for i, s := range samples {
		if s.class >= 0 {
			e.firstRow[s.class+1] = int32(i + 1)
		}
		ids, values := rows.row(i)
		from, sum := len(e.values), float32(0)
		for k, id := range ids {
			if sp.views[id] != viewChar {
				e.ids, e.values = append(e.ids, id), append(e.values, values[k])
				sum += values[k] * values[k]
			}
		}
		if sum > 0 {
			for k := from; k < len(e.values); k++ {
				e.values[k] /= sqrt32(sum)
			}
		}
		e.starts = append(e.starts, int32(len(e.ids)))
		text := oneLine(s.text, maxQuote)
		e.texts = append(e.texts, text)
		if s.trigger {
			e.reasons = append(e.reasons, "close to the trigger “"+text+"”")
		} else {
			e.reasons = append(e.reasons, "close to the example “"+text+"”")
		}
	}
	for c := range classes {
		e.firstRow[c+1] = max(e.firstRow[c+1], e.firstRow[c])
	}
	return e
}

func (m *Model) newScratch() *scratch {
	return &scratch{
		scores: make([]float32, len(m.intents)),
		dense:  make([]float32, m.space.dict.n),
	}
}

// read turns a message into a vector in sc. What is in sc.dense must be taken
// out again with clear.
func (m *Model) read(sc *scratch, message string) {
	sc.text.reset(message)
	sc.feats = appendFeatures(sc.feats[:0], &sc.text)
	sc.ids, sc.values = sc.ids[:0], sc.values[:0]
	sc.words, sc.knownWords, sc.runs, sc.knownRuns, sc.nWords = 0, 0, 0, 0, 0
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

// top returns the best and the second best of the allowed classes; -1 for none.
func top(scores []float32, allowed func(int) bool) (first, second int) {
	first, second = -1, -1
	for c, s := range scores {
		if !allowed(c) {
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

// nearest finds the row of a class that is most like the message, among those
// that skip does not name, its cosine, and the worth of the message's words
// that the class uses.
func (m *Model) nearest(sc *scratch, class int, skip []bool) (row int, cosine, covered float32) {
	e := &m.examples
	row = -1
	norm := float32(0)
	for k, id := range sc.ids {
		if m.space.views[id] != viewChar {
			norm += sc.values[k] * sc.values[k]
		}
	}
	if norm == 0 {
		return row, 0, 0
	}
	norm = 1 / sqrt32(norm)
	sc.covered = sc.covered[:0]
	for i := e.firstRow[class]; i < e.firstRow[class+1]; i++ {
		if skip != nil && skip[i] {
			continue
		}
		sum := float32(0)
		for k := e.starts[i]; k < e.starts[i+1]; k++ {
			id := e.ids[k]
			v := sc.dense[id]
			if v == 0 {
				continue
			}
			if v > 0 {
				sc.dense[id] = -v
				sc.covered = append(sc.covered, id)
			} else {
				v = -v
			}
			sum += v * e.values[k]
		}
		if sum *= norm; row < 0 || sum > cosine {
			row, cosine = int(i), sum
		}
	}
	for _, id := range sc.covered {
		sc.dense[id] = -sc.dense[id]
		if m.space.views[id] == viewWord {
			covered += m.space.worth[id]
		}
	}
	return row, cosine, covered
}

func (m *Model) signals(sc *scratch, first, second int, cosine, covered float32) signals {
	var s signals
	s[sigBias] = 1
	s[sigScore] = float64(sc.scores[first])
	s[sigMargin] = 2
	if second >= 0 {
		s[sigMargin] = math.Min(float64(sc.scores[first]-sc.scores[second]), 2)
	}
	s[sigNearest] = float64(cosine)
	s[sigKnown] = share(sc.knownWords, sc.words)
	s[sigKnownRuns] = share(sc.knownRuns, sc.runs)
	if sc.runs == 0 {
		s[sigKnownRuns] = s[sigKnown]
	}
	s[sigCovered] = share(covered, sc.words)
	s[sigLength] = math.Log1p(float64(sc.nWords))
	return s
}

func share(part, whole float32) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part / whole)
}

// calibrate learns what the signals say about being right. For every fold a
// part of each intent's examples and a part of the intents are taken out of
// the model, which then sees these examples as new messages: the former as
// messages of its intents, the latter as messages that fit none.
func (m *Model) calibrate(full *solver, samples []sample) {
	m.inScope, m.correct = inScopePrior, correctPrior
	classes := len(m.intents)
	if classes == 0 {
		return
	}
	n := full.rows.len()
	folds := numFolds
	if n > 2500 {
		folds = 1
	}
	held := make([]bool, n)
	sc := m.newScratch()
	known := make([]int32, m.space.dict.n)
	var obs []observation
	for fold := range folds {
		s := full
		if folds > 1 {
			s = full.clone()
		}
		seen := make([]int, classes+1)
		clear(known)
		for i, sm := range samples {
			k := seen[sm.class+1]
			if !sm.trigger {
				seen[sm.class+1]++
			}
			held[i] = (sm.class >= 0 && int(sm.class)%numFolds == fold) || (!sm.trigger && (k+int(sm.class+1))%numFolds == fold)
			if !held[i] {
				ids, _ := full.rows.row(i)
				for _, id := range ids {
					known[id]++
				}
			}
		}
		if s == full {
			s = full.clone()
		}
		s.forget(held)
		s.run(foldEpochs, uint64(100+fold), held)
		s.bayes(held)
		present := func(c int) bool { return c%numFolds != fold }
		for i, sm := range samples {
			if !held[i] || sm.trigger {
				continue
			}
			m.read(sc, sm.text)
			m.unknow(sc, known)
			score(sc.scores, s.blocks, sc.ids, sc.values)
			first, second := top(sc.scores, present)
			if first >= 0 {
				_, cosine, covered := m.nearest(sc, first, held)
				obs = append(obs, observation{
					signals: m.signals(sc, first, second, cosine, covered),
					inScope: sm.class >= 0 && present(int(sm.class)),
					correct: int32(first) == sm.class,
					weight:  1,
				})
			}
			sc.clear()
		}
	}
	balance(obs)
	m.inScope = fitLogistic(obs, func(o *observation) (hit, use bool) { return o.inScope, true }, inScopePrior, priorPrecision)
	m.correct = fitLogistic(obs, func(o *observation) (hit, use bool) { return o.correct, o.inScope }, correctPrior, priorPrecision)
}

// unknow takes the features out of a vector that a fold does not know.
func (m *Model) unknow(sc *scratch, known []int32) {
	sc.words, sc.knownWords, sc.runs, sc.knownRuns = 0, 0, 0, 0
	unknownWords := sc.nWords
	k := 0
	for i, id := range sc.ids {
		_ = i
		v := m.space.views[id]
		if known[id] == 0 {
			sc.dense[id] = 0
			switch v {
			case viewWord:
				sc.words += m.space.unknown
				unknownWords--
			case viewChar:
				sc.runs += m.space.unknown
			}
			continue
		}
		w := m.space.worth[id]
		switch v {
		case viewWord:
			sc.words += w
			sc.knownWords += w
			unknownWords--
		case viewChar:
			sc.runs += w
			sc.knownRuns += w
		}
		sc.ids[k], sc.values[k] = id, w
		k++
	}
	sc.ids, sc.values = sc.ids[:k], sc.values[:k]
	m.space.scale(sc.ids, sc.values)
	for k, id := range sc.ids {
		sc.dense[id] = sc.values[k]
	}
}

// balance weighs the observations so that messages that fit nothing have their
// share.
func balance(obs []observation) {
	in, out := 0, 0
	for i := range obs {
		if obs[i].inScope {
			in++
		} else {
			out++
		}
	}
	if in == 0 || out == 0 {
		return
	}
	total := float64(in + out)
	for i := range obs {
		if obs[i].inScope {
			obs[i].weight = total * (1 - outOfScopeShare) / float64(in)
		} else {
			obs[i].weight = total * outOfScopeShare / float64(out)
		}
	}
}

// verdict is the outcome of a classification.
type verdict struct {
	first, second int // positions; -1 for none
	row           int // the nearest example of the first; -1 for none
	cosine        float32
	// pIn is the probability that some intent fits, pFirst that the first does.
	pIn, pFirst float64
}

func (v *verdict) other() bool { return v.first < 0 || 1-v.pIn > v.pFirst }

// confidence is the probability that the answer is right.
func (v *verdict) confidence() float64 {
	if v.other() {
		return 1 - v.pIn
	}
	return v.pFirst
}

// judge classifies what sc has read.
func (m *Model) judge(sc *scratch, allowed []bool) verdict {
	v := verdict{first: -1, second: -1, row: -1}
	if len(sc.ids) == 0 {
		return v
	}
	score(sc.scores, m.blocks, sc.ids, sc.values)
	v.first, v.second = top(sc.scores, func(c int) bool { return c >= len(allowed) || allowed[c] })
	if v.first < 0 {
		return v
	}
	var covered float32
	v.row, v.cosine, covered = m.nearest(sc, v.first, nil)
	s := m.signals(sc, v.first, v.second, v.cosine, covered)
	v.pIn = m.inScope.probability(&s)
	v.pFirst = v.pIn * m.correct.probability(&s)
	return v
}

// Classify implements [classify.Local]. The catalogue of in must be the one the
// model was trained on, or one narrowed from it.
func (m *Model) Classify(in classify.Input) payload.Classification {
	var allowed []bool
	if in.Catalog != nil {
		allowed = in.Catalog.Allowed()
	}
	sc := m.pool.Get().(*scratch)
	defer m.pool.Put(sc)
	m.read(sc, in.Latest)
	v := m.judge(sc, allowed)
	sc.clear()
	out := payload.Classification{
		Goal:       oneLine(in.Latest, maxGoal),
		Confidence: v.confidence(),
		Complexity: Complexity(in.Latest),
		Source:     payload.SourceLocal,
	}
	if v.other() {
		fallback := m.catalog.Fallback()
		out.Intent, out.Name, out.Reason = fallback.ID, fallback.Name, "no intent's examples are close to the message"
		return out
	}
	best := &m.intents[v.first]
	out.Intent, out.Name = best.ID, best.Name
	if v.row >= 0 {
		out.Reason = m.examples.reasons[v.row]
	}
	return out
}

// Score is an intent and the probability that it is right.
type Score struct {
	Intent      string  `json:"intent"`
	Name        string  `json:"name"`
	Probability float64 `json:"probability"`
}

// Prediction is all that the model has to say of a message.
type Prediction struct {
	// Intent is the best intent of those allowed, whether or not the message
	// falls to the fallback; "" when none is allowed.
	Intent string
	// Other says that the answer is the fallback.
	Other bool
	// Confidence is the probability that the answer is right: that of Intent,
	// or of the fallback when Other is set.
	Confidence float64
	// Ranked are the allowed intents with the fallback, most probable first.
	Ranked []Score
	// Nearest is the example, or trigger, of Intent that is most like the
	// message, and Similarity its cosine.
	Nearest    string
	Similarity float64
	// Words are the message's words that spoke most for Intent.
	Words []string
}

// Predict classifies a text that follows a conversation. allowed is by
// position in the root catalogue, nil for all.
func (m *Model) Predict(message string, conversation []payload.Turn, allowed []bool) Prediction {
	sc := m.pool.Get().(*scratch)
	defer m.pool.Put(sc)
	m.read(sc, message)
	v := m.judge(sc, allowed)
	p := Prediction{Other: v.other(), Confidence: v.confidence(), Similarity: float64(v.cosine)}
	if v.first >= 0 {
		p.Intent = m.intents[v.first].ID
	}
	if v.row >= 0 {
		p.Nearest = m.examples.texts[v.row]
	}
	p.Ranked = m.rank(sc, &v, allowed)
	sc.clear()
	return p
}

func (m *Model) rank(sc *scratch, v *verdict, allowed []bool) []Score {
	fallback := m.catalog.Fallback()
	out := []Score{{Intent: fallback.ID, Name: fallback.Name, Probability: 1 - v.pIn}}
	if v.first < 0 {
		return out
	}
	out = append(out, Score{Intent: m.intents[v.first].ID, Name: m.intents[v.first].Name, Probability: v.pFirst})
	// What is left goes to the others by their scores.
	total, from := 0.0, len(out)
	for c := range m.intents {
		if c == v.first || c < len(allowed) && !allowed[c] {
			continue
		}
		w := math.Exp(4 * float64(sc.scores[c]))
		total += w
		out = append(out, Score{Intent: m.intents[c].ID, Name: m.intents[c].Name, Probability: w})
	}
	for i := from; i < len(out); i++ {
		out[i].Probability = math.Min(out[i].Probability/total*(v.pIn-v.pFirst), v.pFirst)
	}
	slices.SortStableFunc(out, func(a, b Score) int {
		switch {
		case a.Probability > b.Probability:
			return -1
		case a.Probability < b.Probability:
			return 1
		}
		return 0
	})
	return out
}
