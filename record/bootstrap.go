package record

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Figures of the intervals, see docs/decisions/0018-intervals-of-an-effect.md.
const (
	// MinSessions is the least number of sessions on either side for an interval. It
	// is the least that decision 18 measured.
	MinSessions = 20
	// Rounds is how often the sessions are drawn anew: each end of a 95 % interval
	// then goes by the 50 most extreme draws.
	Rounds = 2000

	tail = 0.025 // at each end of the interval
	seed = 18    // the same sessions have the same interval
)

// Contrast is how a mean per turn differs between sessions with hints and those
// that were held out.
type Contrast struct {
	Hinted  float64 `json:"hinted"`
	HeldOut float64 `json:"heldOut"`
	// Difference is Hinted - HeldOut.
	Difference float64 `json:"difference"`
	// Interval holds the true difference with a confidence of 95 %, the lower end
	// first; nil where there is not enough to tell, for the reason NotEnough.
	Interval  *[2]float64 `json:"interval"`
	NotEnough string      `json:"notEnough,omitempty"`
}

// Values of [Contrast.NotEnough].
const (
	FewSessions = "sessions" // fewer than [MinSessions] on a side
	FewEvents   = "events"   // all sessions alike, or all but a few
)

// sample is a session's part of a mean: the sum over its turns, and their number.
type sample struct{ sum, turns float64 }

// moments are sums over sessions, of which mean and variance are made. Turns of a
// session are alike, so a session is what is drawn.
type moments struct{ n, sum, turns, sumSum, sumTurns, turnsTurns float64 }

func (m *moments) add(s sample) {
	m.n++
	m.sum += s.sum
	m.turns += s.turns
	m.sumSum += s.sum * s.sum
	m.sumTurns += s.sum * s.turns
	m.turnsTurns += s.turns * s.turns
}

// mean is per turn.
func (m *moments) mean() float64 {
	if m.turns == 0 {
		return 0
	}
	return m.sum / m.turns
}

// deviation is the mean square of what a session's sum differs from so many turns of
// the mean.
func (m *moments) deviation() float64 {
	if m.n < 2 {
		return 0
	}
	mean := m.mean()
	return max(0, m.sumSum-2*mean*m.sumTurns+mean*mean*m.turnsTurns) / (m.n - 1)
}

// variance is that of the mean, for sessions with such a deviation.
func (m *moments) variance(deviation float64) float64 {
	if m.turns == 0 {
		return 0
	}
	return m.n * deviation / (m.turns * m.turns)
}

func momentsOf(samples ...[]sample) (m moments) {
	for _, s := range slices.Concat(samples...) {
		m.add(s)
	}
	return m
}

// differ compares two groups of sessions. The interval is a bootstrap-t: in each
// round the sessions of both groups are drawn anew, and what counts is how many
// standard errors the draw differs from the groups. No group's deviation is taken
// to be less than that of all sessions together, as a small group in which nothing
// happened has none.
func differ(hinted, heldOut []sample, rounds int) Contrast {
	a, b := momentsOf(hinted), momentsOf(heldOut)
	difference := a.mean() - b.mean()
	out := Contrast{Hinted: rounded(a.mean()), HeldOut: rounded(b.mean()), Difference: rounded(difference)}
	if len(hinted) < MinSessions || len(heldOut) < MinSessions {
		out.NotEnough = FewSessions
		return out
	}
	all := momentsOf(hinted, heldOut)
	least := all.deviation()
	scale := math.Sqrt(a.variance(max(a.deviation(), least)) + b.variance(max(b.deviation(), least)))
	t := draws(hinted, heldOut, difference, rounds)
	low, high := difference-scale*quantile(t, 1-tail), difference-scale*quantile(t, tail)
	if scale == 0 || !finite(low) || !finite(high) {
		out.NotEnough = FewEvents
		return out
	}
	out.Interval = &[2]float64{rounded(low), rounded(high)}
	return out
}

// draws returns, sorted, by how many standard errors of its own each draw differs
// from the difference.
func draws(hinted, heldOut []sample, difference float64, rounds int) []float64 {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // The draw is to be the same each time.
	out := make([]float64, rounds)
	for i := range out {
		a, b := draw(random, hinted), draw(random, heldOut)
		off := a.mean() - b.mean() - difference
		if off != 0 { // else 0/0
			off /= math.Sqrt(a.variance(a.deviation()) + b.variance(b.deviation()))
		}
		out[i] = off
	}
	slices.Sort(out)
	return out
}

// draw draws as many sessions as there are, each any number of times.
func draw(random *rand.Rand, from []sample) (m moments) {
	for range from {
		m.add(from[random.IntN(len(from))])
	}
	return m
}

// quantile interpolates between sorted values.
func quantile(sorted []float64, p float64) float64 {
	at := min(max(p*float64(len(sorted)+1)-1, 0), float64(len(sorted)-1))
	low := int(at)
	high := min(low+1, len(sorted)-1)
	if sorted[low] == sorted[high] {
		return sorted[low] // also where both are infinite
	}
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// rounded leaves six decimals: what comes after them depends on the processor.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
