package local

import (
	"cmp"
	"math"
	"slices"
)

// Targets of the thresholds, for groups that the gate was not trained on.
const (
	// targetMissed is the estimated share of deserving messages that may be
	// skipped as sure. The aim is 1 %; half of it is reserved for the error of an
	// estimate from a few hundred messages.
	targetMissed = 0.005
	// maxMissed bounds the same share as counted.
	maxMissed = 0.01
	// tail is the share of the deserving messages, those with the lowest scores,
	// from which the first share is estimated.
	tail = 0.1
	// minDeserving is how many deserving messages there must be for anything to be
	// skipped.
	minDeserving = 60
	// maxWasted bounds the share of sure answers that nobody wanted. A wasted
	// answer costs a turn of the agent, an unsure message one short question to a
	// model.
	maxWasted = 0.05
)

// limits are the score up to which skipping a message is sure, and the score
// from which answering it is sure.
type limits struct{ skip, respond float64 }

var never = limits{math.Inf(-1), math.Inf(1)}

// regime is the index of the limits. After an answer of the bot, most messages
// that deserve another one are not worded as questions; elsewhere most are. So
// each case has its own limits.
func regime(afterBot bool) int {
	if afterBot {
		return 1
	}
	return 0
}

// learnLimits returns the limits for samples like these, given their scores by
// weights that were learnt without them.
func learnLimits(scores []float64, samples []*sample) limits {
	order := make([]int, len(samples))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	skip := min(estimatedSkip(scores, samples, order), countedSkip(scores, samples, order))
	return limits{skip, max(skip, sureRespond(scores, samples, order))}
}

// estimatedSkip returns the score below which targetMissed of the deserving
// messages lie. With so few of them the lowest scores are noise, so it is taken
// from an exponential distribution fitted to the tail, as in the
// peaks-over-threshold method.
func estimatedSkip(scores []float64, samples []*sample, order []int) float64 {
	var all float64
	n := 0
	for _, s := range samples {
		if s.Target == 1 {
			n++
			all += s.Weight
		}
	}
	if n < minDeserving {
		return math.Inf(-1)
	}
	var below, sum float64 // weight in the tail, and weight times score
	for _, i := range order {
		if samples[i].Target != 1 {
			continue
		}
		if below >= tail*all {
			mean := scores[i] - sum/below
			return scores[i] - mean*math.Log(below/all/targetMissed)
		}
		below += samples[i].Weight
		sum += samples[i].Weight * scores[i]
	}
	return math.Inf(-1)
}

// countedSkip returns the score below which no more than maxMissed of the
// deserving messages lie.
func countedSkip(scores []float64, samples []*sample, order []int) float64 {
	var all, missed float64
	for _, s := range samples {
		all += s.Weight * s.Target
	}
	for _, i := range order {
		missed += samples[i].Weight * samples[i].Target
		if missed > maxMissed*all {
			return math.Nextafter(scores[i], math.Inf(-1))
		}
	}
	return math.Inf(-1)
}

// sureRespond returns the lowest score from which no more than maxWasted of the
// messages deserve no answer, counting one more than observed.
func sureRespond(scores []float64, samples []*sample, order []int) float64 {
	respond := math.Inf(1)
	wasted, all := 1.0, 1.0
	for _, i := range slices.Backward(order) {
		wasted += samples[i].Weight * (1 - samples[i].Target)
		all += samples[i].Weight
		if wasted <= maxWasted*all {
			respond = scores[i]
		}
	}
	return respond
}
