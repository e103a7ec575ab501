package decide

import (
	"cmp"
	"math"
	"slices"
)

const (
	// window is how many of the last trials count.
	window = 500
	// level95 is the confidence of a lower bound, one-sided: 59 trials without a mistake
	// prove 0.95.
	level95 = 0.95
	// slack is by how much the lower bound may fall below the target before a student's
	// right to answer is taken back: so chance alone rarely does.
	slack = 0.02
	// recentChecks are looked at on their own: a teacher that changes its mind must not
	// hide behind hundreds of older trials. doubt is how unlikely they must be.
	recentChecks = 100
	doubt        = 0.01
	// lowerStep is by how much a threshold must fall to be worth a change.
	lowerStep = 0.01
)

// Trial is an answer of a student that was compared with the right one.
type Trial struct {
	// P is the probability that the student gave its answer.
	P     float64
	Agree bool
	// Check is set for a random check of what the student had answered alone.
	Check bool
	At    int64 // Unix milliseconds
}

// Standing is whether a student answers alone.
type Standing struct {
	// Threshold is the probability from which on it does, 0 for never.
	Threshold float64 `json:"threshold"`
	// Since is when it was handed over to, Back when that was last taken back, in Unix
	// milliseconds. Trials up to Back no longer count.
	Since int64 `json:"since,omitempty"`
	Back  int64 `json:"takenBack,omitempty"`
}

// Next returns the standing after trials, oldest first, and whether it differs. target
// is the agreement that is needed, 0–1.
func (s Standing) Next(trials []Trial, target float64) (next Standing, changed bool) {
	trials = slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return t.At <= s.Back })
	if len(trials) == 0 {
		return s, false
	}
	last := trials[len(trials)-1].At
	if s.Threshold == 0 {
		found, ok := threshold(newest(trials, window), target)
		if !ok {
			return s, false
		}
		return Standing{Threshold: found, Since: last, Back: s.Back}, true
	}
	unsure := func(t Trial) bool { return t.P < s.Threshold }
	alone := slices.DeleteFunc(slices.Clone(trials), unsure)
	checks := newest(slices.DeleteFunc(slices.Clone(alone), func(t Trial) bool { return !t.Check }), recentChecks)
	right, n := agreed(newest(alone, window))
	rightChecks, nChecks := agreed(checks)
	if n > 0 && !proven(right, n, target-slack) || nChecks > 0 && 1-atLeast(rightChecks+1, nChecks, target) <= doubt {
		return Standing{Back: last}, true
	}
	// What it is less sure of has been compared all the time, and of what it is sure of
	// only the checks: each has a window of its own.
	others := slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return !unsure(t) })
	both := slices.Concat(newest(alone, window), newest(others, window))
	if found, ok := threshold(both, target); ok && found < s.Threshold-lowerStep {
		return Standing{Threshold: found, Since: s.Since, Back: s.Back}, true
	}
	return s, false
}

func newest(trials []Trial, n int) []Trial { return trials[max(len(trials)-n, 0):] }

func agreed(trials []Trial) (right, n int) {
	for _, t := range trials {
		if t.Agree {
			right++
		}
	}
	return right, len(trials)
}

// threshold returns the least probability from which on the lower bound of agreement is
// at least the target; ok is false if there is none.
func threshold(trials []Trial, target float64) (least float64, ok bool) {
	sorted := slices.SortedFunc(slices.Values(trials), func(a, b Trial) int { return cmp.Compare(b.P, a.P) })
	right := 0
	for i, t := range sorted {
		if t.Agree {
			right++
		}
		// Those of equal probability are above a threshold together.
		if i+1 < len(sorted) && sorted[i+1].P == t.P {
			continue
		}
		if proven(right, i+1, target) {
			least, ok = t.P, true
		}
	}
	return least, ok
}

// proven reports whether the exact (Clopper-Pearson) one-sided lower bound of a share,
// of which k of n were seen, is at least the target.
func proven(k, n int, target float64) bool {
	return n > 0 && atLeast(k, n, target) <= 1-level95
}

// LowerBound returns the exact one-sided 95 % lower bound of a share of which k of n
// were seen; 0 for none.
func LowerBound(k, n int) float64 { return lowerBound(k, n, 1-level95) }

// Interval returns the exact (Clopper-Pearson) two-sided 95 % interval of a share of
// which k of n were seen.
func Interval(k, n int) [2]float64 {
	const tail = (1 - level95) / 2 // probability of a share outside, on either side
	return [2]float64{lowerBound(k, n, tail), 1 - lowerBound(n-k, n, tail)}
}

// lowerBound returns the greatest share of which k of n or more are seen with no more
// than the given probability.
func lowerBound(k, n int, tail float64) float64 {
	low, high := 0.0, 1.0
	for range 50 { // to a precision of a double
		if mid := (low + high) / 2; n > 0 && atLeast(k, n, mid) <= tail {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// atLeast returns the probability of k or more successes in n tries of probability p.
func atLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	all, _ := math.Lgamma(float64(n + 1))
	sum := 0.0
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}
