package local

import (
	"math"
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
	sigOutside   // lead of the best intent over the fallback's examples
	// Shares of the message's letters by script, Latin being the rest. The same
	// score means more in one script than in another.
	sigHan // Han and kana
	sigHangul
	sigAlphabet // any other
	numSignals
)

// observation is the outcome for one text that the scoring model had not seen.
type observation struct {
	signals signals
	inScope bool // an intent of the scoring model was right
	correct bool // it was the best one
	// fallback: the text is an example of the fallback, not one of an intent that
	// the scoring model lacks.
	fallback bool
	weight   float64
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

// fitLogistic returns the regression that makes the outcomes most likely given
// the prior, whose weight is precision, in observations. It uses Newton's
// method and halves each step until it improves the loss: far from the optimum
// full steps may diverge.
func fitLogistic(obs []observation, outcome func(*observation) (hit, use bool), prior logistic, precision float64) logistic {
	const (
		maxSteps, maxHalvings = 50, 20 // far more than are needed, so that it ends
		settled               = 1e-9   // promised gain of a step at which to stop
		enough                = 1e-4   // share of the promised gain for a step to be taken
	)
	l := prior
	now := lossOf(&l, obs, outcome, &prior, precision)
	for range maxSteps {
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
			d, h := (p-y)*o.weight, p*(1-p)*o.weight
			for i, a := range o.signals {
				gradient[i] += d * a
				for j := 0; j <= i; j++ {
					hessian[i][j] += h * a * o.signals[j]
				}
			}
		}
		step, ok := solve(&hessian, &gradient)
		promised := 0.0
		for i, v := range step {
			promised += v * gradient[i]
		}
		if !ok || promised <= settled*now {
			break
		}
		next, then := l, now
		for k, factor := 0, 1.0; k < maxHalvings && then > now-enough*factor*promised; k, factor = k+1, factor/2 {
			for i, v := range step {
				next[i] = l[i] - factor*v
			}
			then = lossOf(&next, obs, outcome, &prior, precision)
		}
		if then >= now {
			break
		}
		l, now = next, then
	}
	return l
}

// lossOf returns the loss that fitLogistic minimises: the negative
// log-likelihood of the regression and of the outcomes given it.
func lossOf(l *logistic, obs []observation, outcome func(*observation) (hit, use bool), prior *logistic, precision float64) float64 {
	sum := 0.0
	for i, v := range prior {
		sum += precision / 2 * (l[i] - v) * (l[i] - v)
	}
	for k := range obs {
		o := &obs[k]
		hit, use := outcome(o)
		if !use {
			continue
		}
		z := 0.0
		for i, v := range o.signals {
			z += l[i] * v
		}
		if hit {
			z = -z
		}
		sum += o.weight * (math.Max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))))
	}
	return sum
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
	s[sigOutside] = math.Max(-2, math.Min(float64(sc.scores[first]-sc.scores[len(m.intents)]), 2))
	if m.around != nil {
		var cosine float32
		cosine, sc.chat = m.around.nearest(sc.feats, sc.chat)
		s[sigOutside] = float64(cosine)
	}
	s[sigHan], s[sigHangul], s[sigAlphabet] = sc.text.scripts()
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
func (m *Model) calibrate(full *solver) {
	inScope, correct, precision := m.priors()
	m.inScope, m.correct = inScope, correct
	if len(m.intents) == 0 || m.bare() {
		return
	}
	n, every := foldsFor(len(m.samples))
	folds := make([][]observation, n)
	var wg sync.WaitGroup
	for fold := range folds {
		wg.Go(func() { folds[fold] = m.observe(full, fold, every) })
	}
	wg.Wait()
	obs := slices.Concat(folds...)
	balance(obs, likeFallback(m.samples, len(m.intents)))
	m.inScope = fitInScope(obs, inScope, precision)
	m.correct = fitCorrect(obs, correct, precision)
}

// fitInScope learns the probability that some intent fits.
func fitInScope(obs []observation, prior logistic, precision float64) logistic {
	return fitLogistic(obs, func(o *observation) (hit, use bool) { return o.inScope, true }, prior, precision)
}

// fitCorrect learns the probability that the best intent is right, given that
// some intent is.
func fitCorrect(obs []observation, prior logistic, precision float64) logistic {
	return fitLogistic(obs, func(o *observation) (hit, use bool) { return o.correct, o.inScope }, prior, precision)
}

// foldsFor returns the number of folds for a number of texts, and the inverse
// of the share of examples that each fold holds out: with many texts a smaller
// share is enough. A model trained without a fifth of the texts is right less
// often than the one in use, and the confidence learnt from it is too low.
func foldsFor(texts int) (folds, every int) {
	switch {
	case texts > 2400:
		return 1, heldOfMany
	case texts > 600:
		return 3, numFolds
	}
	return numFolds, numFolds
}

// holdout describes what a fold holds out of a model.
type holdout struct {
	number  int
	held    []bool // by row
	present []bool // by intent
	known   []bool // by feature: a remaining row has it
}

// holdOut takes one in every examples of each intent, and one in numFolds intents,
// out of the model.
func (m *Model) holdOut(number, every int, rows *corpus) *holdout {
	f := &holdout{
		number: number, held: make([]bool, len(m.samples)),
		present: make([]bool, len(m.intents)), known: make([]bool, m.lexicon.n),
	}
	for c := range f.present {
		f.present[c] = c%numFolds != number
	}
	seen := make([]int, len(m.intents)+1)
	for i := range m.samples {
		sm := &m.samples[i]
		k := seen[sm.class+1]
		if !sm.trigger {
			seen[sm.class+1]++
		}
		absent := sm.class >= 0 && !f.present[sm.class]
		f.held[i] = absent || !sm.trigger && (k+int(sm.class+1))%every == number
		if !f.held[i] {
			ids, _ := rows.row(i)
			for _, id := range ids {
				f.known[id] = true
			}
		}
	}
	return f
}

// without returns a solver that has forgotten the held-out rows.
func (f *holdout) without(full *solver) *solver {
	s := full.clone()
	s.forget(f.held)
	s.run(foldEpochs, uint64(100+f.number), f.held)
	return s
}

// observe tests a fold: the model sees the held-out texts as new messages.
func (m *Model) observe(full *solver, number, every int) []observation {
	var (
		f   = m.holdOut(number, every, full.rows)
		sc  = m.newScratch()
		obs []observation
	)
	sc.known = f.known
	s := f.without(full)
	s.bayes(f.held)
	for i := range m.samples {
		sm := &m.samples[i]
		if !f.held[i] || sm.trigger {
			continue
		}
		m.read(sc, sm.text)
		score(sc.scores, s.blocks, sc.ids, sc.values)
		if first, second := top(sc.scores[:len(m.intents)], f.present); first >= 0 {
			_, cosine, covered := m.nearest(sc, first, f.held)
			obs = append(obs, observation{
				signals:  m.signals(sc, first, second, cosine, covered),
				inScope:  sm.class >= 0 && f.present[sm.class],
				correct:  int32(first) == sm.class,
				fallback: sm.class < 0,
				weight:   1,
			})
		}
	}
	return obs
}

// likeFallback returns the assumed share, among messages that fit no intent, of
// those that are like the fallback's examples. The examples that every
// catalogue has do not count.
func likeFallback(samples []sample, intents int) float64 {
	examples := -leastFallback
	for _, sm := range samples {
		if sm.class < 0 {
			examples++
		}
	}
	return max(fallbackShare, float64(examples)/float64(max(1, examples+fallbackPerIntent*intents)))
}

// oddsFor returns how much likelier than the best intent the fallback must be to
// be the answer.
func oddsFor(samples []sample, intents int) float64 {
	if likeFallback(samples, intents) < fewFallback && len(samples) >= manyExamples*intents {
		return surerOdds
	}
	return fallbackOdds
}

// balance weighs the observations so that messages that fit nothing have their
// share, and examples of the fallback the given share of it.
func balance(obs []observation, share float64) {
	in, absent, fallback := 0, 0, 0
	for i := range obs {
		switch o := &obs[i]; {
		case o.inScope:
			in++
		case o.fallback:
			fallback++
		default:
			absent++
		}
	}
	if in == 0 || absent+fallback == 0 {
		return
	}
	switch {
	case fallback == 0:
		share = 0
	case absent == 0:
		share = 1
	}
	total := float64(len(obs))
	for i := range obs {
		switch o := &obs[i]; {
		case o.inScope:
			o.weight = total * (1 - outOfScopeShare) / float64(in)
		case o.fallback:
			o.weight = total * outOfScopeShare * share / float64(fallback)
		default:
			o.weight = total * outOfScopeShare * (1 - share) / float64(absent)
		}
	}
}
