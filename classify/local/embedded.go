package local

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"intenthint/classify"
	"intenthint/internal/text"
	"intenthint/payload"
)

// Embedded classifies by the words of a message, as [Model] does, and by its
// embedding: a message that shares no words with an example may still be near
// one. It is immutable and safe for concurrent use.
type Embedded struct {
	words      *Model
	dimensions int
	// mean is the mean of the catalogue's vectors. Many models put all texts of
	// a kind close together; subtracting the mean separates them.
	mean   []float32
	blocks []block // a linear head over the vectors: [dimension][class]
	ids    []int32 // 0 to dimensions-1, which the head calls its features
	// rows are the vectors of the examples and triggers; around those of the surroundings
	// of a thin catalogue.
	rows, around placed
	// linear gives a further score; nil if the vectors have too many dimensions.
	linear  *discriminant
	mix     mix
	inScope logistic
	correct logistic
}

// embedding is an [Embedded] and the vectors of the texts it wants to see.
type embedding struct {
	model   *Embedded
	vectors map[string][]float32
	// alone: only the message itself has a vector, and the conversation is read by
	// words.
	alone bool
}

// mix holds the weights of an intent's four scores. They add up to 1.
type mix struct{ words, head, nearest, linear float32 }

const (
	// headLength is the length that vectors have for the head: about that of a
	// text in [Model].
	headLength = 2
	// headEpochs is more than maxEpochs: all rows share all their features, so
	// they converge more slowly. Sixteen add nothing.
	headEpochs = 8
	// maxCandidates is how many of the best intents by both linear scores are
	// compared by their nearest examples, which takes longest.
	maxCandidates = 5
)

// The signals of an [Embedded], in place of those of [Model].
const (
	vecBias    = iota
	vecScore   // the mixed score of the best intent
	vecMargin  // its lead over the next
	vecNearest // cosine of vectors to the nearest example of the best intent
	vecWords   // cosine of words to the nearest example of it
	vecKnown   // share of the message's words, by worth, that the catalogue uses
	vecCovered // share of the words that the best intent itself uses
	vecHead    // the score of the best intent by the head alone
	vecOutside // lead of the best intent's nearest example over the fallback's
	vecHan     // shares of the letters by script, as those of Model
	vecHangul
	vecAlphabet
	numVec
)

// Both kinds of signals are learned from in the same way.
var _ [numSignals]struct{} = [numVec]struct{}{}

// What the mix and the confidence start from, for catalogues too small to learn
// them.
var (
	mixPrior             = logistic{2, 4, 4, 4}
	embeddedInScopePrior = logistic{-3, 2, 1, 5, 0.5, 0.3, 0.5, 0.5, 0}
	embeddedCorrectPrior = logistic{-2, 1, 4, 1, 0.3, 0, 0.5, 0.5, 0}
)

// ErrNoVectors reports a catalogue of which no text has a vector.
var ErrNoVectors = errors.New("no text of the intents has a vector")

// TrainEmbedded trains a model on what m was trained on and the vectors of the
// catalogue's [TextsOf], each of length 1, or nil for a text that counts by its
// words alone. It fails if a text is missing, if no text of an intent has a
// vector, which is [ErrNoVectors], or if dimensions differ. Like Train, it
// depends on its arguments alone.
func TrainEmbedded(m *Model, vectors map[string][]float32) (*Embedded, error) {
	samples := m.samples
	e := &Embedded{words: m}
	rows, err := e.place(samples, vectors)
	if err != nil {
		return nil, err
	}
	unfinished := newModel(m.catalog)
	words := unfinished.learn()
	words.run(maxEpochs, 1, nil)
	head := newSolver(e.corpus(samples, rows), e.dimensions, len(m.intents))
	head.run(headEpochs, 1, nil)
	e.blocks, e.linear = head.blocks, e.newDiscriminant(samples, rows, nil)
	e.calibrate(unfinished, words, head, rows)
	for i := range e.blocks {
		e.blocks[i].alpha = nil
	}
	return e, nil
}

// place places the vectors, and returns them by row less their mean, each of length 1;
// nil for a text without one.
func (e *Embedded) place(samples []sample, vectors map[string][]float32) ([][]float32, error) {
	n, ofIntents := 0, 0
	for _, sm := range samples {
		wanted := textOf(sm.text)
		v, ok := vectors[wanted]
		switch {
		case wanted == "", ok && v == nil:
			continue
		case len(v) == 0:
			return nil, fmt.Errorf("missing vector for “%s”", text.OneLine(wanted, maxQuote))
		case n == 0:
			e.dimensions, e.mean = len(v), make([]float32, len(v))
		case len(v) != e.dimensions:
			return nil, fmt.Errorf("vector for “%s” has %d dimensions, not %d", text.OneLine(wanted, maxQuote), len(v), e.dimensions)
		}
		n++
		if sm.class >= 0 {
			ofIntents++
		}
		axpy(e.mean, v, 1)
	}
	if ofIntents == 0 && len(e.words.intents) > 0 {
		return nil, ErrNoVectors
	}
	for i := range e.mean {
		e.mean[i] /= float32(n)
	}
	e.number()
	if s := e.words.around; s != nil {
		for i, t := range s.texts {
			if v := vectors[textOf(t)]; len(v) == e.dimensions && !s.own[i] {
				e.around.add(v, e.mean)
			}
		}
	}
	rows := make([][]float32, len(samples))
	for i, sm := range samples {
		v := vectors[textOf(sm.text)]
		if e.rows.add(v, e.mean); v != nil {
			rows[i] = make([]float32, e.dimensions)
			e.centre(rows[i], v)
		}
	}
	return rows, nil
}

// number sets what follows from the number of dimensions.
func (e *Embedded) number() {
	e.rows.size, e.around.size = e.dimensions, e.dimensions
	e.ids = make([]int32, e.dimensions)
	for i := range e.ids {
		e.ids[i] = int32(i)
	}
}

// centre sets out to v less the mean, scaled to length 1.
func (e *Embedded) centre(out, v []float32) {
	sum := float32(0)
	for i, x := range v {
		out[i] = x - e.mean[i]
		sum += out[i] * out[i]
	}
	if sum <= leastLength {
		clear(out)
		return
	}
	scale := 1 / sqrt32(sum)
	for i := range out {
		out[i] *= scale
	}
}

// corpus returns the vectors in the form in which the head is trained on them.
func (e *Embedded) corpus(samples []sample, rows [][]float32) *corpus {
	n := 0
	for _, row := range rows {
		n += len(row)
	}
	c := &corpus{
		ids: make([]int32, 0, n), values: make([]float32, 0, n),
		starts: make([]int32, 1, len(samples)+1), shared: make([]int32, len(samples)),
		norms: make([]float32, len(samples)), own: make([]float32, len(samples)),
	}
	for i, sm := range samples {
		c.class, c.cost = append(c.class, sm.class), append(c.cost, sm.cost())
		if rows[i] != nil {
			c.ids = append(c.ids, e.ids...)
			for _, x := range rows[i] {
				c.values = append(c.values, headLength*x)
			}
			c.shared[i], c.norms[i] = int32(e.dimensions), headLength*headLength
		}
		c.starts = append(c.starts, int32(len(c.ids)))
	}
	return c
}

// candidate is one of the best intents for a message.
type candidate struct {
	class   int
	words   float32 // its score by words
	head    float32 // by the head
	linear  float32 // by the discriminant
	nearest float32 // cosine of vectors to the nearest example of it
	row     int     // that example; -1 without one
}

// score returns the mixed score.
func (c *candidate) score(by mix) float32 {
	return by.words*c.words + by.head*c.head + by.linear*c.linear + by.nearest*max(c.nearest, 0)
}

// candidates finds the best of the allowed classes, nil for all, given their
// scores by words and by the head, and compares them by their nearest examples
// that skip does not name. The best comes first.
func (e *Embedded) candidates(words, head, linear []float32, vector *query, allowed, skip []bool, by mix) []candidate {
	best := make([]candidate, 0, maxCandidates+1)
	first := mix{words: by.words, head: by.head, linear: by.linear}
	insert := func(c candidate, by mix) {
		at := len(best)
		for at > 0 && best[at-1].score(by) < c.score(by) {
			at--
		}
		best = slices.Insert(best, at, c)
	}
	for class := range words {
		if allowed != nil && (class >= len(allowed) || !allowed[class]) {
			continue
		}
		c := candidate{class: class, words: words[class], head: head[class], row: -1}
		if linear != nil {
			c.linear = linear[class]
		}
		insert(c, first)
		best = best[:min(len(best), maxCandidates)]
	}
	found := slices.Clone(best)
	best = best[:0]
	for _, c := range found {
		for i := e.words.postings.firstRow[c.class]; i < e.words.postings.firstRow[c.class+1]; i++ {
			if !e.rows.has(int(i)) || skip != nil && skip[i] {
				continue
			}
			if cosine := e.rows.cosine(int(i), vector); c.row < 0 || cosine > c.nearest {
				c.row, c.nearest = int(i), cosine
			}
		}
		insert(c, by)
	}
	return best
}

// outside returns the cosine to the nearest example of the fallback that skip
// does not name, 0 without one.
func (e *Embedded) outside(vector *query, skip []bool) (cosine float32) {
	for i := int(e.words.postings.firstRow[len(e.words.intents)]); i < len(e.words.samples); i++ {
		if skip == nil || !skip[i] {
			cosine = max(cosine, e.rows.cosine(i, vector))
		}
	}
	for i := range e.around.inverse.len() {
		cosine = max(cosine, e.around.cosine(i, vector))
	}
	return cosine
}

// product returns the scalar product of two vectors.
func product(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// headScores returns the head's scores of a vector of length 1.
func (e *Embedded) headScores(blocks []block, vector []float32) []float32 {
	scaled := make([]float32, len(vector))
	axpy(scaled, vector, headLength)
	out := make([]float32, len(e.words.intents))
	score(out, blocks, e.ids, scaled)
	return out
}

// signals returns the signals of candidates, best first, given the word cosine
// to the nearest example of the best, and how much of the message it covers.
func (e *Embedded) signals(sc *scratch, best []candidate, outside float32, by mix, cosine, covered float32) signals {
	var s signals
	s[vecBias] = 1
	s[vecScore] = float64(best[0].score(by))
	s[vecMargin] = 1
	if len(best) > 1 {
		s[vecMargin] = min(float64(best[0].score(by)-best[1].score(by)), 1)
	}
	s[vecNearest] = float64(best[0].nearest)
	s[vecWords] = float64(cosine)
	s[vecKnown] = share(sc.knownWords, sc.words)
	s[vecCovered] = share(covered, sc.words)
	s[vecHead] = float64(best[0].head)
	s[vecOutside] = float64(best[0].nearest - outside)
	if e.around.inverse.len() > 0 {
		s[vecOutside] = float64(outside)
	}
	s[vecHan], s[vecHangul], s[vecAlphabet] = sc.text.scripts()
	return s
}

// judge classifies the message that sc has read; vector is its embedding.
func (e *Embedded) judge(sc *scratch, allowed []bool, vector []float32) verdict {
	m := e.words
	v := verdict{first: -1, second: -1, row: -1, odds: m.odds}
	m.score(sc.scores, sc)
	centred := make([]float32, e.dimensions)
	e.centre(centred, vector)
	head := e.headScores(e.blocks, centred)
	linear := e.linear.scores(centred)
	q := newQuery(centred, e.mean)
	best := e.candidates(sc.scores[:len(m.intents)], head, linear, q, allowed, nil, e.mix)
	if len(best) == 0 {
		return v
	}
	// Runners-up are ranked by the scores in sc.
	for c := range m.intents {
		sc.scores[c] = e.mix.words*sc.scores[c] + e.mix.head*head[c]
		if linear != nil {
			sc.scores[c] += e.mix.linear * linear[c]
		}
	}
	for i := range best {
		sc.scores[best[i].class] = best[i].score(e.mix)
	}
	v.first, v.row, v.cosine = best[0].class, best[0].row, best[0].nearest
	if len(best) > 1 {
		v.second = best[1].class
	}
	row, cosine, covered := m.nearest(sc, v.first, nil)
	v.words = cosine
	s := e.signals(sc, best, e.outside(q, nil), e.mix, cosine, covered)
	v.pIn = e.inScope.probability(&s)
	v.pFirst = v.pIn * e.correct.probability(&s)
	m.trustSame(sc, &v, row, s[vecMargin])
	v.seen = m.evidence(sc, &v, &s, true)
	return v
}

// tried is the outcome for one text that the scoring models had not seen.
type tried struct {
	row     int
	outside float32 // cosine of vectors to the nearest example of the fallback
	best    []candidate
	inScope bool
}

// calibrate learns the mix and what the signals say about being right, as
// [Model.calibrate] does, with the same folds.
func (e *Embedded) calibrate(m *Model, words, head *solver, rows [][]float32) {
	samples := m.samples
	inScope, correct, precision := e.priors()
	e.mix, e.inScope, e.correct = mixOf(mixPrior), inScope, correct
	if m.bare() {
		e.mix = mixOf(bareMix)
		return
	}
	if len(m.intents) == 0 {
		return
	}
	n, _ := foldsFor(len(samples))
	folds := make([]*holdout, n)
	outcomes := make([][]tried, len(folds))
	for i := range folds {
		folds[i] = m.holdOut(i, numFolds, words.rows)
		outcomes[i] = e.try(m, folds[i], words, head, rows)
	}
	e.mix = mixOf(fitLogistic(contests(outcomes, samples), func(*observation) (hit, use bool) { return true, true }, mixPrior, priorPrecision))
	var obs []observation
	sc := m.newScratch()
	for i, f := range folds {
		sc.known = f.known
		for _, t := range outcomes[i] {
			// The mix decides which is the best.
			slices.SortStableFunc(t.best, func(a, b candidate) int { return cmp.Compare(b.score(e.mix), a.score(e.mix)) })
			class := samples[t.row].class
			m.read(sc, samples[t.row].text)
			_, cosine, covered := m.nearest(sc, t.best[0].class, f.held)
			obs = append(obs, observation{
				signals: e.signals(sc, t.best, t.outside, e.mix, cosine, covered),
				inScope: t.inScope, correct: int32(t.best[0].class) == class, fallback: class < 0, weight: 1,
			})
		}
	}
	balance(obs, likeFallback(samples, len(m.intents)))
	e.inScope = fitInScope(obs, inScope, precision)
	e.correct = fitCorrect(obs, correct, precision)
}

// try scores the texts that a fold holds out.
func (e *Embedded) try(m *Model, f *holdout, words, head *solver, rows [][]float32) []tried {
	w := f.without(words)
	w.bayes(f.held)
	h := newSolver(head.rows, head.features, head.classes)
	h.run(headEpochs, uint64(100+f.number), f.held)
	linear := e.newDiscriminant(m.samples, rows, f.held)
	sc := m.newScratch()
	sc.known = f.known
	var out []tried
	for i, sm := range m.samples {
		if !f.held[i] || sm.trigger || rows[i] == nil {
			continue
		}
		m.read(sc, sm.text)
		score(sc.scores, w.blocks, sc.ids, sc.values)
		q := newQuery(rows[i], e.mean)
		best := e.candidates(sc.scores[:len(m.intents)], e.headScores(h.blocks, rows[i]), linear.scores(rows[i]), q, f.present, f.held, e.mix)
		if len(best) > 0 {
			out = append(out, tried{row: i, best: best, outside: e.outside(q, f.held), inScope: sm.class >= 0 && f.present[sm.class]})
		}
	}
	return out
}

// contests returns the right intent's scores minus those of each other
// candidate.
func contests(outcomes [][]tried, samples []sample) []observation {
	var obs []observation
	for _, t := range slices.Concat(outcomes...) {
		right := slices.IndexFunc(t.best, func(c candidate) bool { return int32(c.class) == samples[t.row].class })
		if right < 0 {
			continue
		}
		r := t.best[right]
		for i, c := range t.best {
			if i != right {
				obs = append(obs, observation{weight: 1, signals: signals{
					float64(r.words - c.words), float64(r.head - c.head),
					float64(max(r.nearest, 0) - max(c.nearest, 0)), float64(r.linear - c.linear),
				}})
			}
		}
	}
	return obs
}

// mixOf returns the mix of the learned weights. A negative weight counts as
// zero.
func mixOf(l logistic) mix {
	w, h, n, d := max(l[0], 0), max(l[1], 0), max(l[2], 0), max(l[3], 0)
	sum := w + h + n + d
	if sum <= 0 {
		return mixOf(mixPrior)
	}
	return mix{float32(w / sum), float32(h / sum), float32(n / sum), float32(d / sum)}
}

// Dimensions returns how many numbers a vector must have.
func (e *Embedded) Dimensions() int { return e.dimensions }

// ClassifyVectors is [Model.Classify] using the vectors of the texts that Texts
// returns, each of length 1 and with Dimensions numbers. A text without a
// vector is classified by its words alone.
func (e *Embedded) ClassifyVectors(in classify.Input, vectors map[string][]float32) payload.Classification {
	return e.words.classify(in, e.by(in, vectors))
}

// PredictVectors is [Model.PredictInput] using vectors in the same way.
func (e *Embedded) PredictVectors(in classify.Input, allowed []bool, vectors map[string][]float32) Prediction {
	return e.words.predict(&in, allowed, e.by(in, vectors))
}
