package local

import "intenthint/classify"

// Observed is what the confidence of an answer is computed from, and what was right.
type Observed struct {
	// Vectors: the encoder took part.
	Vectors bool
	outcome observation
}

// Strange reports whether the message fits no intent.
func (o *Observed) Strange() bool { return !o.outcome.inScope }

// Right reports whether the likeliest intent fits.
func (o *Observed) Right() bool { return o.outcome.correct }

// Observe classifies, as [Model.Try] does, a message that fits the intent of the given
// id, or none if that is "". ok is false for a message of which nothing is known.
func (m *Model) Observe(in classify.Input, e *Embedded, vectors map[string][]float32, intent string) (o Observed, ok bool) {
	a := m.Try(in, e, vectors)
	if !a.seen.read || a.Intent == "" || a.seen.from == (signals{}) {
		return Observed{}, false
	}
	o.Vectors = a.Vectors
	o.outcome = observation{signals: a.seen.from, inScope: intent != "", correct: intent != "" && a.Intent == intent, fallback: true}
	return o, true
}

// Confidence is the pair of regressions that a confidence is computed with: whether some
// intent fits, and, if so, whether the likeliest does.
type Confidence struct {
	InScope, Correct [numSignals]float64
}

// ThinConfidence returns what the confidence of a thin catalogue starts from: without
// examples (bare) or with few, by words or by vectors.
func ThinConfidence(bare, vectors bool) Confidence {
	switch {
	case bare && vectors:
		return Confidence{bareEmbeddedInScope, bareEmbeddedCorrect}
	case bare:
		return Confidence{bareInScope, bareCorrect}
	case vectors:
		return Confidence{thinEmbeddedInScope, thinEmbeddedCorrect}
	}
	return Confidence{thinInScope, thinCorrect}
}

// FitConfidence returns the regressions that make the outcomes most likely, if the given
// share of messages, above 0 and below 1, fits no intent.
func FitConfidence(observed []Observed, strange float64) Confidence {
	obs := make([]observation, len(observed))
	n := 0
	for i := range observed {
		obs[i] = observed[i].outcome
		if observed[i].Strange() {
			n++
		}
	}
	total := float64(len(obs))
	for i := range obs {
		if obs[i].weight = total * (1 - strange) / float64(max(1, len(obs)-n)); !obs[i].inScope {
			obs[i].weight = total * strange / float64(max(1, n))
		}
	}
	return Confidence{fitInScope(obs, logistic{}, priorPrecision), fitCorrect(obs, logistic{}, priorPrecision)}
}

// Of returns the probability that the likeliest intent fits.
func (c *Confidence) Of(o *Observed) float64 {
	in, correct := logistic(c.InScope), logistic(c.Correct)
	return in.probability(&o.outcome.signals) * correct.probability(&o.outcome.signals)
}
