package local

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The loss is convex: wherever the search starts, the gradient vanishes at the
// optimum.
func TestFitLogisticFindsTheOptimum(t *testing.T) {
	for _, row := range []struct {
		name  string
		prior logistic
		n     int
	}{
		{"from zero", logistic{}, 200},
		{"from close by", logistic{-1, 2}, 200},
		{"from the wrong side", logistic{1, -2}, 200},
		{"from very far", logistic{-30, -40, 30, 40}, 200},
		{"from very far with few observations", logistic{-30, -40, 30, 40}, 5},
		{"from probabilities of 0 and 1", logistic{500, 500, 500, 500}, 200},
		{"no observations", logistic{1, 2, 3}, 0},
	} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%s %d", row.name, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 0))
				obs := make([]observation, row.n)
				for i := range obs {
					o := &obs[i]
					o.signals[0], o.weight = 1, 0.1+random.Float64()
					for k := 1; k < numSignals; k++ {
						o.signals[k] = random.NormFloat64()
					}
					o.inScope = random.Float64() < 1/(1+math.Exp(1-2*o.signals[1]))
				}
				outcome := func(o *observation) (hit, use bool) { return o.inScope, true }
				l := fitLogistic(obs, outcome, row.prior, 0.5)
				for k := range l {
					slope := 0.5 * (l[k] - row.prior[k])
					for i := range obs {
						y := 0.0
						if obs[i].inScope {
							y = 1
						}
						slope += obs[i].weight * (l.probability(&obs[i].signals) - y) * obs[i].signals[k]
					}
					require.InDelta(t, 0, slope, 0.01, "signal %d", k)
				}
			})
		}
	}
}
