// Package local classifies messages in this process, with a linear model that
// is trained from the triggers and examples of a catalogue when it is loaded.
package local

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
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
	stem    [maxStem]rune
	// Worth of the message's words and runs: all of it, and what is known.
	words, knownWords, runs, knownRuns float32
	// strange is the squared worth of the words and pairs that are not known.
	strange float32
	nWords  int
}

// examples are the training rows as the nearest-example search reads them:
// words and pairs only, the rows of a class together.
type examples struct {
	firstRow []int32 // by class; one more at the end
	starts   []int32 // by row; one more at the end
	ids      []int32
	values   []float32
	reasons  []string // by row
	trigger  []bool   // by row
	texts    []string
}

const (
	maxEpochs   = 4  // through the training texts; more changes nothing
	babbleShare = 20 // one in so many observations is of a message of made-up words
	foldEpochs  = 1  // for a model that only forgets some of them
	numFolds    = 5
	// enoughTexts is how many training texts confidence is learnt from: a
	// fifth of them held out, and a fifth of the intents.
	enoughTexts = 4000
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
	s := newSolver(rows, sp.shared, len(m.intents), positiveCost)
	s.run(maxEpochs, 1, nil)
	m.pool.New = func() any { return m.newScratch() }
	m.calibrate(s, samples)
	m.blocks = s.finish(int(sp.dict.n))
	return m
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
		e.trigger = append(e.trigger, s.trigger)
		kind := "example"
		if s.trigger {
			kind = "trigger"
		}
		e.reasons = append(e.reasons, "close to the "+kind+" “"+text+"”")
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
		} else if f.view != viewChar {
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

// nearest finds the row of a class that is most like the message, among those
// that skip does not name, its cosine, and the worth of the message's words
// that the class uses.
func (m *Model) nearest(sc *scratch, class int, skip []bool) (row int, cosine, covered float32) {
	e := &m.examples
	row = -1
	norm, known := float32(0), float32(0)
	for k, id := range sc.ids {
		if m.space.views[id] != viewChar {
			norm += sc.values[k] * sc.values[k]
			known += m.space.worth[id] * m.space.worth[id]
		}
	}
	if known > 0 {
		norm *= 1 + sc.strange/known
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
	if len(m.intents) == 0 {
		return
	}
	// Of many texts a few fifths are enough.
	folds := make([][]observation, min(numFolds, enoughTexts/max(len(samples), 1)+1))
	if runtime.GOMAXPROCS(0) == 1 {
		for fold := range folds {
			folds[fold] = m.observe(full, samples, fold)
		}
	} else {
		var wg sync.WaitGroup
		for fold := range folds {
			wg.Go(func() { folds[fold] = m.observe(full, samples, fold) })
		}
		wg.Wait()
	}
	obs := slices.Concat(folds...)
	balance(obs)
	m.inScope = fitLogistic(obs, func(o *observation) (hit, use bool) { return o.inScope, true }, inScopePrior, priorPrecision)
	m.correct = fitLogistic(obs, func(o *observation) (hit, use bool) { return o.correct, o.inScope }, correctPrior, priorPrecision)
}

// observe tries out a fold: what is taken out of the model is seen by it as
// new messages.
func (m *Model) observe(full *solver, samples []sample, fold int) []observation {
	var (
		held    = make([]bool, len(samples))
		present = make([]bool, len(m.intents))
		seen    = make([]int, len(m.intents)+1)
		known   = make([]int32, m.space.dict.n)
		sc      = m.newScratch()
		obs     []observation
	)
	for c := range present {
		present[c] = c%numFolds != fold
	}
	for i, sm := range samples {
		k := seen[sm.class+1]
		if !sm.trigger {
			seen[sm.class+1]++
		}
		absent := sm.class >= 0 && !present[sm.class]
		held[i] = absent || !sm.trigger && (k+int(sm.class+1))%numFolds == fold
		if !held[i] {
			ids, _ := full.rows.row(i)
			for _, id := range ids {
				known[id]++
			}
		}
	}
	s := full.clone()
	s.forget(held)
	s.run(foldEpochs, uint64(100+fold), held)
	s.bayes(held)
	for i, sm := range samples {
		if !held[i] || sm.trigger {
			continue
		}
		m.read(sc, sm.text)
		m.unknow(sc, known)
		score(sc.scores, s.blocks, sc.ids, sc.values)
		if first, second := top(sc.scores, present); first >= 0 {
			_, cosine, covered := m.nearest(sc, first, held)
			obs = append(obs, observation{
				signals: m.signals(sc, first, second, cosine, covered),
				inScope: sm.class >= 0 && present[sm.class],
				correct: int32(first) == sm.class,
				weight:  1,
			})
		}
		sc.clear()
	}
	return append(obs, m.babble(sc, s, present, len(obs)/babbleShare+1, uint64(fold))...)
}

// babble observes n messages of made-up words: what fits none of a catalogue's
// intents may be farther from it than any intent of its own.
func (m *Model) babble(sc *scratch, s *solver, present []bool, n int, seed uint64) []observation {
	random := rand.New(rand.NewPCG(seed, 0))
	var obs []observation
	var b []byte
	for range n {
		b = b[:0]
		for range 1 + random.IntN(6) {
			for range 2 + random.IntN(7) {
				b = append(b, byte('a'+random.IntN(26)))
			}
			b = append(b, ' ')
		}
		m.read(sc, string(b))
		k := 0
		for i, id := range sc.ids {
			if int(id) < s.features {
				sc.ids[k], sc.values[k] = id, sc.values[i]
				k++
			}
		}
		score(sc.scores, s.blocks, sc.ids[:k], sc.values[:k])
		if first, second := top(sc.scores, present); first >= 0 {
			_, cosine, covered := m.nearest(sc, first, nil)
			obs = append(obs, observation{signals: m.signals(sc, first, second, cosine, covered), weight: 1})
		}
		sc.clear()
	}
	return obs
}

// unknow takes the features out of a vector that a fold does not know.
func (m *Model) unknow(sc *scratch, known []int32) {
	k := 0
	for _, id := range sc.ids {
		worth := m.space.worth[id]
		if known[id] > 0 {
			sc.ids[k], sc.values[k] = id, worth
			k++
			continue
		}
		sc.dense[id] = 0
		strange := m.space.unknown * m.space.weight[id]
		switch m.space.views[id] {
		case viewWord:
			sc.words += strange - worth
			sc.knownWords -= worth
		case viewChar:
			sc.runs += strange - worth
			sc.knownRuns -= worth
		}
		if m.space.views[id] != viewChar {
			sc.strange += strange * strange
		}
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
	// earlier is the user's earlier message that decided; "" for none.
	earlier string
}

// other says that the answer is the fallback. It needs more than to be the
// likelier answer: who is wrongly given no hint has lost it, who is wrongly
// given one has advice that does not apply.
func (v *verdict) other() bool { return v.first < 0 || 1-v.pIn > fallbackOdds*v.pFirst }

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
	score(sc.scores, m.blocks, sc.ids, sc.values)
	v.first, v.second = top(sc.scores, allowed)
	if v.first < 0 || len(sc.ids) == 0 {
		return v
	}
	var covered float32
	v.row, v.cosine, covered = m.nearest(sc, v.first, nil)
	s := m.signals(sc, v.first, v.second, v.cosine, covered)
	v.pIn = m.inScope.probability(&s)
	v.pFirst = v.pIn * m.correct.probability(&s)
	if v.row >= 0 && !m.examples.trigger[v.row] && v.cosine > sameCosine && sc.strange == 0 && s[sigMargin] > 0 {
		// Calibration sees no message twice, so it cannot know that a message
		// that is an example, word for word, is surely meant like it.
		v.pFirst = max(v.pFirst, sameProbability)
		v.pIn = max(v.pIn, v.pFirst)
	}
	return v
}

// decide classifies a message that follows a conversation. It leaves the
// vector that decided in sc, to be taken out with clear.
func (m *Model) decide(sc *scratch, message string, conversation []payload.Turn, allowed []bool) verdict {
	m.read(sc, message)
	kind := m.followUpOf(sc)
	alone := m.judge(sc, allowed)
	if kind == acknowledgement {
		alone.doubt()
	}
	if kind == standalone || kind == elliptic && !alone.other() && alone.pFirst >= 0.5 {
		return alone
	}
	// What a message lacks stands in what the user said before. What the
	// assistant said is not what the user wants.
	discount, looked := continuity, 0
	for i := len(conversation) - 1; i >= 0 && looked < maxLookBack; i-- {
		turn := &conversation[i]
		if turn.Role != "user" {
			continue
		}
		sc.clear()
		looked++
		if kind == elliptic {
			m.read(sc, turn.Text, message)
		} else if m.read(sc, turn.Text); m.followUpOf(sc) == acknowledgement {
			continue
		}
		v := m.judge(sc, allowed)
		v.pIn *= discount
		v.pFirst *= discount
		if !v.other() && (kind == acknowledgement || alone.other() || v.pFirst > alone.pFirst) {
			v.earlier = turn.Text
			return v
		}
		discount *= continuity
	}
	if looked > 0 {
		sc.clear()
		m.read(sc, message)
		score(sc.scores, m.blocks, sc.ids, sc.values)
	}
	return alone
}

// doubt lowers the probabilities for a message that means nothing alone, unless
// an intent has an example that is much the same.
func (v *verdict) doubt() {
	if c := float64(v.cosine); c < muchTheSame {
		v.pIn *= c
		v.pFirst *= c
	}
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
	v := m.decide(sc, in.Latest, in.Conversation, allowed)
	out := payload.Classification{
		Goal:       goal(in.Latest, v.earlier),
		Confidence: v.confidence(),
		Complexity: Complexity(in.Latest),
		Source:     payload.SourceLocal,
	}
	if v.other() {
		fallback := m.catalog.Fallback()
		out.Intent, out.Name = fallback.ID, fallback.Name
	} else {
		out.Intent, out.Name = m.intents[v.first].ID, m.intents[v.first].Name
	}
	out.Reason = m.reason(sc, &v)
	sc.clear()
	return out
}

// Score is an answer and the probability that it is right.
type Score struct {
	Intent      string  `json:"intent"`
	Name        string  `json:"name"`
	Probability float64 `json:"probability"`
}

// Prediction is all that the model has to say of a message.
type Prediction struct {
	// Intent is the best intent of those allowed, whether or not the message
	// falls to the fallback: a forced choice. "" when none is allowed.
	Intent string `json:"intent"`
	// Other says that the answer is the fallback.
	Other bool `json:"other"`
	// Confidence is the probability that the answer is right: that of Intent,
	// or of the fallback when Other is set.
	Confidence float64 `json:"confidence"`
	// Ranked are the allowed intents and the fallback, most probable first.
	// The probabilities add up to 1.
	Ranked []Score `json:"ranked"`
	// Reason is the sentence that Classify gives.
	Reason string `json:"reason"`
	// Nearest is the example, or trigger, of Intent that is most like the
	// message, and Similarity its cosine, 0 to 1.
	Nearest    string  `json:"nearest,omitempty"`
	Similarity float64 `json:"similarity"`
	// Words are what in the message spoke most for Intent, strongest first.
	Words []string `json:"words,omitempty"`
}

// Predict classifies a message that follows a conversation, oldest turn first.
// allowed is by position in the root catalogue, nil for all.
func (m *Model) Predict(message string, conversation []payload.Turn, allowed []bool) Prediction {
	sc := m.pool.Get().(*scratch)
	defer m.pool.Put(sc)
	v := m.decide(sc, message, conversation, allowed)
	p := Prediction{
		Other: v.other(), Confidence: v.confidence(), Similarity: float64(v.cosine),
		Reason: m.reason(sc, &v), Words: m.tellingWords(sc, &v), Ranked: m.rank(sc, &v, allowed),
	}
	if v.first >= 0 {
		p.Intent = m.intents[v.first].ID
	}
	if v.row >= 0 {
		p.Nearest = m.examples.texts[v.row]
	}
	sc.clear()
	return p
}

func (m *Model) rank(sc *scratch, v *verdict, allowed []bool) []Score {
	fallback := m.catalog.Fallback()
	out := make([]Score, 0, len(m.intents)+1)
	out = append(out, Score{Intent: fallback.ID, Name: fallback.Name, Probability: 1 - v.pIn})
	if v.first < 0 {
		return out
	}
	out = append(out, Score{Intent: m.intents[v.first].ID, Name: m.intents[v.first].Name, Probability: v.pFirst})
	// What is left goes to the others by their scores.
	total, from := 0.0, len(out)
	for c := range m.intents {
		if c == v.first || allowed != nil && !allowed[c] {
			continue
		}
		w := math.Exp(runnerUpSharpness * float64(sc.scores[c]-sc.scores[v.first]))
		total += w
		out = append(out, Score{Intent: m.intents[c].ID, Name: m.intents[c].Name, Probability: w})
	}
	if from == len(out) {
		// The only intent there is: what is not its is the fallback's.
		out[0].Probability = 1 - v.pFirst
	}
	for i := from; i < len(out); i++ {
		out[i].Probability *= (v.pIn - v.pFirst) / total
	}
	slices.SortStableFunc(out, func(a, b Score) int { return cmp.Compare(b.Probability, a.Probability) })
	return out
}
