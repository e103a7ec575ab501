package decide

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// trials returns n trials of which some are wrong, the wrong ones first.
func trials(n, wrong int, p float64, at *int64, check bool) (out []Trial) {
	for i := range n {
		*at++
		out = append(out, Trial{P: p, Agree: i >= wrong, Check: check, At: *at})
	}
	return out
}

// The counts are those of the exact one-sided bound.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		n, wrong int
		target   float64
		hands    bool
	}{
		{"58 without a mistake", 58, 0, 0.95, false},
		{"59 without a mistake", 59, 0, 0.95, true},
		{"92 with one", 92, 1, 0.95, false},
		{"93 with one", 93, 1, 0.95, true},
		{"123 with two", 123, 2, 0.95, false},
		{"124 with two", 124, 2, 0.95, true},
		{"28 for 0.9", 28, 0, 0.9, false},
		{"29 for 0.9", 29, 0, 0.9, true},
		{"500 that agree too rarely", 500, 30, 0.95, false},
	} {
		var at int64
		next, changed := Standing{}.Next(trials(row.n, row.wrong, 0.9, &at, false), row.target)
		require.Equal(t, row.hands, changed, row.name)
		if row.hands {
			require.Equal(t, Standing{Threshold: 0.9, Since: at}, next, row.name)
		}
	}
}

// The threshold is the least probability at which agreement is proven.
func TestThreshold(t *testing.T) {
	t.Parallel()
	var at int64
	list := append(trials(59, 0, 0.99, &at, false), trials(40, 0, 0.9, &at, false)...)
	list = append(list, trials(20, 10, 0.6, &at, false)...)
	next, changed := Standing{}.Next(list, 0.95)
	require.True(t, changed)
	require.InDelta(t, 0.9, next.Threshold, 1e-12)
	// Only the last 500 count.
	next, _ = Standing{}.Next(append(list, trials(500, 250, 0.6, &at, false)...), 0.95)
	require.Zero(t, next.Threshold)
	// It falls when more is proven.
	lower, changed := Standing{Threshold: 0.99, Since: 7}.Next(append(list[:99], trials(60, 0, 0.7, &at, false)...), 0.95)
	require.True(t, changed)
	require.Equal(t, Standing{Threshold: 0.7, Since: 7}, lower)
}

func TestTakenBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		right, checks int // trials before, and checks
		wrong         int // of the checks
		taken         bool
	}{
		{"no check", 500, 0, 0, false},
		{"few proofs and good checks", 59, 40, 0, false},
		{"a wrong check", 500, 20, 1, false},
		{"two wrong of two", 500, 2, 2, true},
		{"the share that is allowed", 500, 100, 5, false},
		{"a teacher that changes a tenth", 500, 100, 13, true},
		{"few proofs and some wrong checks", 59, 30, 5, true},
	} {
		var at int64
		list := trials(row.right, 0, 0.95, &at, false)
		since := at
		list = append(list, trials(row.checks, row.wrong, 0.95, &at, true)...)
		// What it is not sure of says nothing about what it answers.
		list = append(list, trials(50, 50, 0.5, &at, false)...)
		s := Standing{Threshold: 0.9, Since: since}
		next, changed := s.Next(list, 0.95)
		require.Equal(t, row.taken, changed, row.name)
		if !row.taken {
			require.Equal(t, s, next, row.name)
			continue
		}
		require.Equal(t, Standing{Back: at}, next, row.name)
		// What was seen before counts no longer.
		again, changed := next.Next(list, 0.95)
		require.False(t, changed, row.name)
		require.Equal(t, next, again)
		_, changed = next.Next(append(list, trials(59, 0, 0.95, &at, false)...), 0.95)
		require.True(t, changed, row.name)
	}
}

// A student that agrees often enough keeps its right; one whose teacher changes its mind
// on a fifth loses it within 100 checks. 200 runs each, with fixed seeds.
func TestChecksTellATeacherThatChanged(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name       string
		agreement  float64
		from, upTo int // runs in which it is taken back
	}{
		{"agrees in 98 %", 0.98, 0, 12},
		{"agrees in 80 %", 0.8, 196, 200},
		{"agrees in 50 %", 0.5, 200, 200},
	} {
		taken := 0
		for run := range 200 {
			random := rand.New(rand.NewPCG(uint64(run), 1))
			var at int64
			list, s := trials(500, 5, 0.95, &at, false), Standing{Threshold: 0.9}
			for range 100 {
				at++
				list = append(list, Trial{P: 0.95, Agree: random.Float64() < row.agreement, Check: true, At: at})
				if next, changed := s.Next(list, 0.95); changed && next.Threshold == 0 {
					taken++
					break
				}
			}
		}
		require.True(t, taken >= row.from && taken <= row.upTo, "%s: taken back in %d of 200 runs", row.name, taken)
	}
}

func TestLowerBound(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		k, n int
		want float64
	}{{59, 59, 0.9505}, {0, 10, 0}, {10, 10, 0.7411}, {9, 10, 0.6058}, {475, 500, 0.9308}, {0, 0, 0}} {
		require.InDelta(t, row.want, LowerBound(row.k, row.n), 0.0001, "%d of %d", row.k, row.n)
	}
}
