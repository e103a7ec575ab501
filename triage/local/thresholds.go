package local

import (
	"cmp"
	"math"
	"slices"
)

// What the thresholds promise, for groups that the gate was not trained on.
const (
	// targetMissed is the share of the messages that deserve an answer that may
	// be skipped for sure, by estimate. The aim is 1 %; half of it is left for
	// the error of an estimate from a few hundred messages.
	targetMissed = 0.005
	// maxMissed bounds the same share as it was counted.
	maxMissed = 0.01
	// tail is the share of the deserving messages, those with the lowest scores,
	// from which the first share is estimated.
	tail = 0.1
	// minDeserving is how many of them there must be to skip anything.
	minDeserving = 60
	// maxWasted is the largest share of sure answers that nobody wanted. A
	// wasted answer costs a turn of the agent, an unsure message one short
	// question to a model.
	maxWasted = 0.05
)

// limits are the score up to which a message is skipped for sure and the score
// from which on it is answered for sure.
type limits struct{ skip, respond float64 }

var never = limits{math.Inf(-1), math.Inf(1)}

// regime is the index of the limits. After an answer of the bot most of what
// deserves another one is no question by its words, elsewhere most is; so each
// has limits of its own.
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
// messages lie. With so few of them the lowest scores themselves are chance, so
// it is read off an exponential distribution fitted to the tail, as in the
// peaks-over-threshold method.
func estimatedSkip(scores []float64, samples []*sample, order []int) float64 {
	var all float64
	n := 0
	for _, s := range samples {
		if s.target == 1 {
			n++
			all += s.weight
		}
	}
	if n < minDeserving {
		return math.Inf(-1)
	}
	var below, sum float64 // weight in the tail, and weight times score
	for _, i := range order {
		if samples[i].target != 1 {
			continue
		}
		if below >= tail*all {
			mean := scores[i] - sum/below
			return scores[i] - mean*math.Log(below/all/targetMissed)
		}
		below += samples[i].weight
		sum += samples[i].weight * scores[i]
	}
	return math.Inf(-1)
}

// countedSkip returns the score below which no more than maxMissed of the
// deserving messages lie.
func countedSkip(scores []float64, samples []*sample, order []int) float64 {
	var all, missed float64
	for _, s := range samples {
		all += s.weight * s.target
	}
	for _, i := range order {
		missed += samples[i].weight * samples[i].target
		if missed > maxMissed*all {
			return math.Nextafter(scores[i], math.Inf(-1))
		}
	}
	return math.Inf(-1)
}

// sureRespond returns the lowest score from which on no more than maxWasted of
// the messages deserve no answer. One more than was seen is reckoned with.
func sureRespond(scores []float64, samples []*sample, order []int) float64 {
	respond := math.Inf(1)
	wasted, all := 1.0, 1.0
	for _, i := range slices.Backward(order) {
		wasted += samples[i].weight * (1 - samples[i].target)
		all += samples[i].weight
		if wasted <= maxWasted*all {
			respond = scores[i]
		}
	}
	return respond
}
