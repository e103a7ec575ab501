package local

import (
	"math"
	"math/rand/v2"
)

func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// sample is an example as the regression sees it: indices of weights.
type sample struct {
	index  []int32
	value  []float32
	target float64 // 1 respond, 0 skip
	weight float64

	genuine  bool // not a copy, in its own thread
	afterBot bool // the bot has just spoken
}

// Parameters of the fit. There are more features than examples, so it stops
// early: more rounds, or a larger step, fit the examples better and new groups
// worse (docs/decisions/0013-a-trained-gate.md). The order is fixed, so that
// training twice gives the same weights.
const (
	rounds   = 10
	stepSize = 0.02
	seed     = 11
)

// fit returns the weights of a logistic regression over the samples, by
// stochastic gradient descent with AdaGrad steps.
func fit(samples []*sample, size int) []float32 {
	weights := make([]float32, size)
	squares := make([]float32, size)
	order := rand.New(rand.NewPCG(seed, seed)).Perm(len(samples))
	for range rounds {
		for _, i := range order {
			s := samples[i]
			g := float32((sigmoid(s.score(weights)) - s.target) * s.weight)
			if g == 0 {
				continue
			}
			for k, j := range s.index {
				d := g * s.value[k]
				squares[j] += float32(d * d)
				weights[j] -= float32(stepSize * d / sqrt32(squares[j]))
			}
		}
	}
	return weights
}

// score returns the sum of the weights of a sample. Conversions prevent fused
// multiply-add, so that every processor rounds alike.
func (s *sample) score(weights []float32) float64 {
	var sum float32
	for k, j := range s.index {
		sum += float32(weights[j] * s.value[k])
	}
	return float64(sum)
}

// calibrate returns slope and offset with which sigmoid(slope*score+offset) is
// the probability of target (Platt's method), by Newton's. Targets are moved
// away from 0 and 1 as in Platt's method, so that it converges for any samples.
func calibrate(scores []float64, samples []*sample) (slope, offset float64) {
	var yes, no float64
	for _, s := range samples {
		yes += s.weight * s.target
		no += s.weight * (1 - s.target)
	}
	high, low := (yes+1)/(yes+2), 1/(no+2)
	slope = 1
	for range 30 {
		var ga, gb float64
		haa, hab, hbb := 1e-6, 0.0, 1e-6
		for i, s := range samples {
			p := sigmoid(slope*scores[i] + offset)
			t := low
			if s.target > 0.5 {
				t = high
			}
			e, v := s.weight*(p-t), s.weight*p*(1-p)
			ga += e * scores[i]
			gb += e
			haa += v * scores[i] * scores[i]
			hab += v * scores[i]
			hbb += v
		}
		det := haa*hbb - hab*hab
		if det < 1e-12 {
			break
		}
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		slope, offset = clamp(slope-clamp(da, 1), 10), clamp(offset-clamp(db, 1), 20)
		if math.Abs(da)+math.Abs(db) < 1e-9 {
			break
		}
	}
	return max(slope, 0.01), offset
}

func clamp(x, limit float64) float64 { return max(-limit, min(limit, x)) }
