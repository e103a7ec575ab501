package linear_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/linear"
)

// drawn returns samples of which feature 0 speaks for the class, 1 against it, and
// 2 says nothing. Each has the constant 3.
func drawn(n int) []*linear.Sample {
	random := rand.New(rand.NewPCG(1, 2))
	samples := make([]*linear.Sample, n)
	for i := range samples {
		target := float64(random.IntN(2))
		samples[i] = &linear.Sample{Index: []int32{3, 2, int32(1 - target)}, Value: []float32{1, float32(random.Float64()), 1}, Target: target, Weight: 1}
		if random.IntN(10) == 0 {
			samples[i].Index[2] = int32(target) // noise
		}
	}
	return samples
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		fit  linear.Logistic
	}{
		{"the last weights", linear.Logistic{Rounds: 10, Step: 0.1, Seed: 1}},
		{"the mean", linear.Logistic{Rounds: 10, Step: 0.1, Seed: 1, Mean: 5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			samples := drawn(500)
			w := row.fit.Fit(samples, 5)
			require.Greater(t, w[0], float32(1))
			require.Less(t, w[1], float32(-1))
			require.InDelta(t, 0, w[2], 0.5)
			require.Zero(t, w[4], "a feature that no sample has")
			right := 0
			for _, s := range samples {
				if (linear.Sigmoid(s.Score(w)) > 0.5) == (s.Target == 1) {
					right++
				}
			}
			require.InDelta(t, 450, right, 20, "one in ten is noise")
			require.Equal(t, w, row.fit.Fit(samples, 5), "repeatable")
		})
	}
}

func TestFitCountsWeights(t *testing.T) {
	t.Parallel()
	fit := linear.Logistic{Rounds: 20, Step: 0.1, Seed: 1}
	sample := func(target, weight float64) *linear.Sample {
		return &linear.Sample{Index: []int32{0}, Value: []float32{1}, Target: target, Weight: weight}
	}
	require.Positive(t, fit.Fit([]*linear.Sample{sample(1, 3), sample(0, 1)}, 1)[0])
	require.Negative(t, fit.Fit([]*linear.Sample{sample(1, 1), sample(0, 3)}, 1)[0])
	require.Zero(t, fit.Fit([]*linear.Sample{sample(1, 0)}, 1)[0])
	require.Equal(t, []float32{0}, fit.Fit(nil, 1))
	tiny := fit.Fit([]*linear.Sample{{Index: []int32{0}, Value: []float32{1e-30}, Target: 1, Weight: 1}}, 1)
	require.Equal(t, []float32{0}, tiny, "no NaN where the square is 0")
}

func TestMeanIsOfTheLastRounds(t *testing.T) {
	t.Parallel()
	samples := drawn(50)
	after := func(rounds int) []float32 { return linear.Logistic{Rounds: rounds, Step: 0.1, Seed: 3}.Fit(samples, 4) }
	third, fourth := after(3), after(4)
	mean := linear.Logistic{Rounds: 4, Step: 0.1, Seed: 3, Mean: 2}.Fit(samples, 4)
	for i := range mean {
		require.InDelta(t, (third[i]+fourth[i])/2, mean[i], 1e-6)
	}
}
