package record

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Parameters of the intervals, see
// docs/decisions/0018-intervals-of-an-effect.md.
const (
	// MinSessions is the least number of sessions on either side for an interval:
	// the smallest number that decision 18 measured.
	MinSessions = 20
	// Rounds is how often the sessions are resampled: each end of a 95 % interval
	// is then determined by the 50 most extreme draws.
	Rounds = 2000

	tail = 0.025 // at each end of the interval
	seed = 18    // the same sessions give the same interval
)

// Contrast is the difference of a mean per turn between sessions with hints and
// held-out sessions.
type Contrast struct {
	Hinted  float64 `json:"hinted"`
	HeldOut float64 `json:"heldOut"`
	// Difference is Hinted - HeldOut.
	Difference float64 `json:"difference"`
	// Interval is the 95 % confidence interval of the difference, lower end first;
	// nil if there is not enough data, for the reason NotEnough.
	Interval  *[2]float64 `json:"interval"`
	NotEnough string      `json:"notEnough,omitempty"`
}

// Values of [Contrast.NotEnough].
const (
	FewSessions = "sessions" // fewer than [MinSessions] on a side
	FewEvents   = "events"   // all sessions equal, or all but a few
)

// sample is a session's part of a mean: the sum over its turns, and their number.
type sample struct{ sum, turns float64 }

// moments are sums over sessions, from which mean and variance are computed.
// The turns of a session are correlated, so whole sessions are resampled.
type moments struct{ n, sum, turns, sumSum, sumTurns, turnsTurns float64 }

func (m *moments) add(s sample) {
	m.n++
	m.sum += s.sum
	m.turns += s.turns
	m.sumSum += s.sum * s.sum
	m.sumTurns += s.sum * s.turns
	m.turnsTurns += s.turns * s.turns
}

// mean returns the mean per turn.
func (m *moments) mean() float64 {
	if m.turns == 0 {
		return 0
	}
	return m.sum / m.turns
}

// deviation returns the mean square deviation of a session's sum from its
// expected value, the mean times its turns.
func (m *moments) deviation() float64 {
	if m.n < 2 {
		return 0
	}
	mean := m.mean()
	return max(0, m.sumSum-2*mean*m.sumTurns+mean*mean*m.turnsTurns) / (m.n - 1)
}

// variance returns the variance of the mean, for sessions with the given
// deviation.
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

// differ compares two groups of sessions. The interval is a bootstrap-t: each
// round resamples the sessions of both groups, and computes by how many
// standard errors the draw differs from the groups. A group's deviation is at
// least that of all sessions together, as a small group in which nothing
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

// draws returns, sorted, by how many of its own standard errors each draw
// differs from the difference.
func draws(hinted, heldOut []sample, difference float64, rounds int) []float64 {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // the draw must be reproducible
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

// draw resamples the sessions with replacement.
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
		return sorted[low] // also if both are infinite
	}
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// rounded rounds to six decimals: further ones depend on the processor.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
