package local

import (
	"math"

	"intenthint/internal/linear"
)

// sample is an example as the regression sees it: target 1 is respond, 0 skip.
type sample struct {
	linear.Sample
	genuine  bool // not a copy, in its own thread
	afterBot bool // the bot has just spoken
}

// regression stops early: more rounds, or a larger step, fit the examples better
// and new groups worse (docs/decisions/0013-a-trained-gate.md).
var regression = linear.Logistic{Rounds: 10, Step: 0.02, Seed: 11}

// fit returns the weights of a logistic regression over the samples.
func fit(samples []*sample, size int) []float32 {
	list := make([]*linear.Sample, len(samples))
	for i, s := range samples {
		list[i] = &s.Sample
	}
	return regression.Fit(list, size)
}

// calibrate returns slope and offset with which linear.Sigmoid(slope*score+offset) is
// the probability of target (Platt's method), by Newton's. Targets are moved
// away from 0 and 1 as in Platt's method, so that it converges for any samples.
func calibrate(scores []float64, samples []*sample) (slope, offset float64) {
	var yes, no float64
	for _, s := range samples {
		yes += s.Weight * s.Target
		no += s.Weight * (1 - s.Target)
	}
	high, low := (yes+1)/(yes+2), 1/(no+2)
	slope = 1
	for range 30 {
		var ga, gb float64
		haa, hab, hbb := 1e-6, 0.0, 1e-6
		for i, s := range samples {
			p := linear.Sigmoid(slope*scores[i] + offset)
			t := low
			if s.Target > 0.5 {
				t = high
			}
			e, v := s.Weight*(p-t), s.Weight*p*(1-p)
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
