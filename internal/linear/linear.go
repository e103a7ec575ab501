// Package linear fits linear classifiers of two classes to sparse samples.
//
// The local classifier of intents has a solver of its own, see
// docs/decisions/0027-one-fold-one-stemmer-two-solvers.md.
package linear

import (
	"math"
	"math/rand/v2"
)

// Sample is an example: the features it has, and its class.
type Sample struct {
	Index  []int32   // of the weights
	Value  []float32 // of each feature
	Target float64   // 1 or 0
	Weight float64   // how much it counts
}

// Score returns the sum of the weights of a sample.
func (s *Sample) Score(weights []float32) float64 {
	var sum float32
	for k, j := range s.Index {
		// Conversions prevent fused multiply-add, so that every processor rounds alike.
		sum += float32(weights[j] * s.Value[k])
	}
	return float64(sum)
}

// Sigmoid returns the probability for log odds of z.
func Sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// Logistic are the parameters of a logistic regression by stochastic gradient
// descent with AdaGrad's steps. There is no penalty: with more features than
// examples it is the small number of rounds that prevents overfitting.
type Logistic struct {
	Rounds int     // through all samples, in an order that depends on Seed alone
	Step   float32 // size of the first step of each weight
	Seed   uint64
	// Mean makes the weights the mean of those after the last Mean rounds, as each
	// depends on the order of the samples; 0 takes the last ones.
	Mean int
}

// Fit returns the weights of a regression, of which there are size. The same
// samples give the same weights.
func (p Logistic) Fit(samples []*Sample, size int) []float32 {
	weights, squares := make([]float32, size), make([]float32, size)
	var mean []float32
	if p.Mean > 0 {
		mean = make([]float32, size)
	}
	order := rand.New(rand.NewPCG(p.Seed, p.Seed)).Perm(len(samples)) //nolint:gosec // repeatable
	for round := range p.Rounds {
		for _, i := range order {
			s := samples[i]
			g := float32((Sigmoid(s.Score(weights)) - s.Target) * s.Weight)
			if g == 0 {
				continue
			}
			for k, j := range s.Index {
				d := g * s.Value[k]
				if squares[j] += float32(d * d); squares[j] > 0 { // the square of a small number is 0
					weights[j] -= float32(p.Step * d / float32(math.Sqrt(float64(squares[j]))))
				}
			}
		}
		if p.Mean > 0 && round >= p.Rounds-p.Mean {
			for i, w := range weights {
				mean[i] += w / float32(p.Mean)
			}
		}
	}
	if p.Mean > 0 {
		return mean
	}
	return weights
}
