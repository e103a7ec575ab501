package local

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// signals are what the confidence is computed from.
type signals [numSignals]float64

const (
	sigBias      = iota
	sigScore     // score of the best intent
	sigMargin    // its lead over the next
	sigNearest   // cosine to the nearest example of the best intent
	sigKnown     // share of the message's words, by worth, that the catalogue uses
	sigKnownRuns // the same for runs of characters
	sigCovered   // share of the words that the best intent itself uses
	sigLength    // logarithm of the number of words
	numSignals
)

// observation is the outcome for one text that the scoring model had not seen.
type observation struct {
	signals signals
	inScope bool // an intent of the scoring model was right
	correct bool // it was the best one
	weight  float64
}

// logistic is a logistic regression over signals.
type logistic [numSignals]float64

func (l *logistic) probability(s *signals) float64 {
	z := 0.0
	for i, v := range s {
		z += l[i] * v
	}
	return 1 / (1 + math.Exp(-z))
}

// fitLogistic finds the regression that makes the outcomes most likely, given
// that it is near prior: precision says how many observations' worth of
// certainty the prior has. It is Newton's method, with a fixed number of steps.
func fitLogistic(obs []observation, outcome func(*observation) (hit, use bool), prior logistic, precision float64) logistic {
	l := prior
	for range 12 {
		var gradient signals
		var hessian [numSignals][numSignals]float64
		for i := range gradient {
			gradient[i] = precision * (l[i] - prior[i])
			hessian[i][i] = precision
		}
		for k := range obs {
			o := &obs[k]
			hit, use := outcome(o)
			if !use {
				continue
			}
			p := l.probability(&o.signals)
			y := 0.0
			if hit {
				y = 1
			}
			d, h := (p-y)*o.weight, math.Max(p*(1-p), 1e-6)*o.weight
			for i, a := range o.signals {
				gradient[i] += d * a
				for j := 0; j <= i; j++ {
					hessian[i][j] += h * a * o.signals[j]
				}
			}
		}
		step, ok := solve(&hessian, &gradient)
		if !ok {
			break
		}
		// A step is bounded: far from the optimum Newton's leaps too far.
		longest := 0.0
		for _, v := range step {
			longest = math.Max(longest, math.Abs(v))
		}
		factor := 1.0
		if longest > 4 {
			factor = 4 / longest
		}
		for i := range l {
			l[i] -= factor * step[i]
		}
	}
	return l
}

// solve returns x of a·x = b for a positive definite a, of which the lower
// half is given, by Cholesky's method.
func solve(a *[numSignals][numSignals]float64, b *signals) (x signals, ok bool) {
	for i := range numSignals {
		for j := 0; j <= i; j++ {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			if i != j {
				a[i][j] = sum / a[j][j]
				continue
			}
			if sum <= 1e-12 {
				return x, false
			}
			a[i][i] = math.Sqrt(sum)
		}
	}
	x = *b
	for i := range numSignals {
		for k := range i {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	for i := numSignals - 1; i >= 0; i-- {
		for k := i + 1; k < numSignals; k++ {
			x[i] -= a[k][i] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x, true
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
	folds := make([][]observation, foldsFor(len(samples)))
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

// foldsFor says how many folds of so many texts are tried out: of many texts a
// few fifths are enough.
func foldsFor(texts int) int {
	switch {
	case texts > 2400:
		return 1
	case texts > 600:
		return 3
	}
	return numFolds
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
