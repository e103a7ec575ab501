package record

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// An occurrence is how sessions come about in a simulation: the sum of so many turns,
// whose mean is times as great. Turns of a session are alike.
type occurrence struct {
	name string
	mean float64 // per turn
	sum  func(r *rand.Rand, turns int, times float64) float64
}

var outcomes = []occurrence{
	{"corrections, of one turn in twenty", 0.05, func(r *rand.Rand, turns int, times float64) (sum float64) {
		p := 0.05 * times * 2 * r.Float64() // of this user
		for range turns {
			if r.Float64() < p {
				sum++
			}
		}
		return sum
	}},
	{"failed tool calls, which come in bursts", 0.3, func(r *rand.Rand, turns int, times float64) (sum float64) {
		mean := 0.3 * times * r.ExpFloat64()
		for range turns {
			sum += math.Floor(mean * 2 * r.ExpFloat64())
		}
		return sum
	}},
	{"durations, some very long", math.Exp((0.36 + 1) / 2), func(r *rand.Rand, turns int, times float64) (sum float64) {
		session := 0.6 * r.NormFloat64()
		for range turns {
			sum += times * math.Exp(session+r.NormFloat64())
		}
		return sum
	}},
}

// simulate makes sessions of one to forty turns, four on average.
func (o occurrence) simulate(r *rand.Rand, sessions int, times float64) []sample {
	out := make([]sample, sessions)
	for i := range out {
		turns := 1
		for turns < 40 && r.Float64() < 0.75 {
			turns++
		}
		out[i] = sample{o.sum(r, turns, times), float64(turns)}
	}
	return out
}

// truth is the mean per turn, of many sessions.
func (o occurrence) truth(times float64) float64 {
	m := momentsOf(o.simulate(rand.New(rand.NewPCG(99, 99)), 400_000, times))
	return m.mean()
}

// Simulations have so many data sets, each drawn anew so often. Fewer data sets would
// tell little, so -short has none.
const (
	alarmSets    = 1000
	coverageSets = 400
	simRounds    = 200
)

func simulation(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a simulation of many data sets")
	}
	t.Parallel()
}

// Groups without a difference are told apart in at most one of twenty data sets,
// also with the fewest sessions that there may be.
func TestFalseAlarmsAreRare(t *testing.T) {
	for _, o := range outcomes {
		for _, groups := range [][2]int{{MinSessions, MinSessions}, {180, MinSessions}} {
			t.Run(fmt.Sprint(o.name, " ", groups), func(t *testing.T) {
				simulation(t)
				random, alarms := rand.New(rand.NewPCG(1, 2)), 0
				for range alarmSets {
					d := differ(o.simulate(random, groups[0], 1), o.simulate(random, groups[1], 1), simRounds)
					if d.Interval != nil && (d.Interval[0] > 0 || d.Interval[1] < 0) {
						alarms++
					}
				}
				t.Logf("%d of %d", alarms, alarmSets)
				require.LessOrEqual(t, alarms, alarmSets/20)
			})
		}
	}
}

// worstCoverage is the least share of data sets in which the interval held the
// planted effect, of 5,000 of a kind with other seeds (decision 18).
const worstCoverage = 0.935

// An effect that is there lies inside the interval in about 95 of 100 data sets: in
// three standard errors of the simulation less than the worst kind at least, which
// is 90 of 100.
func TestAPlantedEffectIsInsideTheInterval(t *testing.T) {
	for _, o := range outcomes {
		for _, groups := range [][2]int{{40, 40}, {400, 40}} {
			t.Run(fmt.Sprint(o.name, " ", groups), func(t *testing.T) {
				simulation(t)
				truth := o.truth(1) - o.truth(2)
				random, inside := rand.New(rand.NewPCG(3, 4)), 0
				for range coverageSets {
					d := differ(o.simulate(random, groups[0], 1), o.simulate(random, groups[1], 2), simRounds)
					require.NotNil(t, d.Interval)
					if d.Interval[0] <= truth && truth <= d.Interval[1] {
						inside++
					}
				}
				t.Logf("%d of %d", inside, coverageSets)
				const n = coverageSets
				require.GreaterOrEqual(t, float64(inside)/n, worstCoverage-3*math.Sqrt(worstCoverage*(1-worstCoverage)/n))
			})
		}
	}
}

// With enough sessions an effect is told from none.
func TestAnEffectIsFound(t *testing.T) {
	for _, o := range outcomes {
		t.Run(o.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6))
			hinted, heldOut := o.simulate(random, 3000, 1), o.simulate(random, 300, 2)
			d := differ(hinted, heldOut, 500)
			require.Negative(t, d.Difference)
			require.NotNil(t, d.Interval)
			require.Negative(t, d.Interval[1])
			require.Equal(t, d, differ(hinted, heldOut, 500), "the same sessions have the same interval")
		})
	}
}

func TestWhereThereIsNotEnough(t *testing.T) {
	same := func(n int, s sample) (out []sample) {
		for range n {
			out = append(out, s)
		}
		return out
	}
	once := append(same(MinSessions-1, sample{0, 3}), sample{1, 3})
	for _, row := range []struct {
		name            string
		hinted, heldOut []sample
		why             string
	}{
		{"nothing", nil, nil, FewSessions},
		{"a session too few", once, once[1:], FewSessions},
		{"few with hints", once[1:], once, FewSessions},
		{"nothing ever happened", same(50, sample{0, 3}), same(50, sample{0, 2}), FewEvents},
		{"all alike", same(50, sample{3, 3}), same(50, sample{2, 2}), FewEvents},
		{"something happened", once, once, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := differ(row.hinted, row.heldOut, 100)
			require.Equal(t, row.why, d.NotEnough)
			require.Equal(t, row.why == "", d.Interval != nil)
		})
	}
}

// A small group in which nothing happened is no proof that nothing ever does.
func TestNothingInASmallGroupIsNoEffect(t *testing.T) {
	heldOut := make([]sample, MinSessions)
	for i := range heldOut {
		heldOut[i].turns = 3
	}
	hinted := outcomes[0].simulate(rand.New(rand.NewPCG(7, 8)), 2000, 1)
	d := differ(hinted, heldOut, 500)
	require.Positive(t, d.Difference)
	require.NotNil(t, d.Interval)
	require.Negative(t, d.Interval[0])
}

func TestQuantile(t *testing.T) {
	for _, row := range []struct {
		p, want float64
	}{{0, 1}, {0.25, 1.25}, {0.5, 2.5}, {0.6, 3}, {1, 4}} {
		require.InDelta(t, row.want, quantile([]float64{1, 2, 3, 4}, row.p), 1e-9, row.p)
	}
	require.Equal(t, math.Inf(1), quantile([]float64{0, math.Inf(1), math.Inf(1)}, 0.7))
}
