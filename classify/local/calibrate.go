package local

import "math"

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
