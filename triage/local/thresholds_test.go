package local

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/internal/linear"
)

// drawn returns samples whose scores are exponential below 0 for those that
// deserve an answer, and all far below for the others.
func drawn(deserving, others int) ([]float64, []*sample) {
	r := rand.New(rand.NewPCG(1, 2))
	var scores []float64
	var samples []*sample
	for range deserving {
		scores = append(scores, -r.ExpFloat64())
		samples = append(samples, &sample{Sample: linear.Sample{Target: 1, Weight: 1}})
	}
	for range others {
		scores = append(scores, -20)
		samples = append(samples, &sample{Sample: linear.Sample{Weight: 1}})
	}
	return scores, samples
}

func TestLearnLimits(t *testing.T) {
	t.Run("the estimate is near the quantile", func(t *testing.T) {
		for _, n := range []int{minDeserving, 300, 20_000} {
			l := learnLimits(drawn(n, n))
			require.InDelta(t, math.Log(targetMissed), l.skip, 2, "%d", n)
		}
	})
	t.Run("too few that deserve an answer", func(t *testing.T) {
		require.Equal(t, math.Inf(-1), learnLimits(drawn(minDeserving-1, 1000)).skip)
	})
	t.Run("what was counted bounds the estimate", func(t *testing.T) {
		scores, samples := drawn(300, 0)
		for i := range 4 { // more than 1 % of them, far below all others
			scores[i] = -100
		}
		require.Less(t, learnLimits(scores, samples).skip, -50.0)
	})
	t.Run("weights count", func(t *testing.T) {
		scores, samples := drawn(300, 0)
		least := 0
		for i := range scores {
			if scores[i] < scores[least] {
				least = i
			}
		}
		samples[least].Weight = maxWeight
		require.Less(t, learnLimits(scores, samples).skip, scores[least])
	})
	t.Run("sure answers are wasted seldom", func(t *testing.T) {
		var scores []float64
		var samples []*sample
		for i := range 1000 { // above 500 one of 50 deserves none, below it half
			s := &sample{Sample: linear.Sample{Weight: 1, Target: 1}}
			if i >= 500 && i%50 == 0 || i < 500 && i%2 == 0 {
				s.Target = 0
			}
			scores, samples = append(scores, float64(i)), append(samples, s)
		}
		require.InDelta(t, 470, learnLimits(scores, samples).respond, 20)
	})
	t.Run("no answer is surely wanted where none ever was", func(t *testing.T) {
		require.Equal(t, math.Inf(1), learnLimits(drawn(0, 100)).respond)
	})
	t.Run("nothing", func(t *testing.T) {
		require.Equal(t, never, learnLimits(nil, nil))
	})
}

func TestCalibrate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var scores []float64
	var samples []*sample
	for range 20_000 {
		z := r.NormFloat64() * 3
		s := &sample{Sample: linear.Sample{Weight: 1}}
		if r.Float64() < linear.Sigmoid(0.5*z-1) {
			s.Target = 1
		}
		scores, samples = append(scores, z), append(samples, s)
	}
	slope, offset := calibrate(scores, samples)
	require.InDelta(t, 0.5, slope, 0.05)
	require.InDelta(t, -1, offset, 0.1)

	slope, offset = calibrate([]float64{-1, 1}, []*sample{{Sample: linear.Sample{Weight: 1}}, {Sample: linear.Sample{Weight: 1, Target: 1}}})
	require.False(t, math.IsNaN(slope+offset))
	require.Positive(t, slope, "the order of scores is kept")
	slope, offset = calibrate(nil, nil)
	require.False(t, math.IsNaN(slope+offset))
}

func TestFit(t *testing.T) {
	on := func(i int32, target float64) *sample {
		return &sample{Sample: linear.Sample{Index: []int32{i}, Value: []float32{1}, Target: target, Weight: 1}}
	}
	weights := fit([]*sample{on(0, 1), on(1, 0), on(0, 1), on(1, 0)}, 3)
	require.Positive(t, weights[0])
	require.Negative(t, weights[1])
	require.Zero(t, weights[2], "a feature that no sample has")
}
