package local

import (
	"math"
	"sync"
)

// discriminant is a linear discriminant over vectors. Its scatter is shrunk
// towards that of a ball: with few examples the true scatter is unknown.
type discriminant struct {
	weights []float32 // [class][dimension]
	bias    []float32
}

const (
	// scatterShare is how much of the scatter is the true one, 0 to 1.
	scatterShare = 0.4
	// discriminantScale brings its scores to about the size of the others.
	discriminantScale = 1.0 / 50
	// maxDiscriminant is the largest dimension for which there is a
	// discriminant: its cost grows with the cube.
	maxDiscriminant = 512
)

// newDiscriminant learns from the rows of samples that have a vector and that skip
// does not name; nil if the vectors have too many dimensions, or if there is no
// such row.
func (e *Embedded) newDiscriminant(samples []sample, rows [][]float32, skip []bool) *discriminant {
	d, classes := e.dimensions, len(e.words.intents)
	if d == 0 || d > maxDiscriminant {
		return nil
	}
	means, counts := make([]float32, classes*d), make([]int, classes)
	used := func(i int) bool { return samples[i].class >= 0 && rows[i] != nil && (skip == nil || !skip[i]) }
	for i := range samples {
		if used(i) {
			c := int(samples[i].class)
			counts[c]++
			axpy(means[c*d:][:d], rows[i], 1)
		}
	}
	for c, n := range counts {
		for k := range d {
			means[c*d+k] /= float32(max(n, 1))
		}
	}
	factor := e.scatter(samples, rows, means, used)
	if factor == nil {
		return nil
	}
	out := &discriminant{weights: make([]float32, classes*d), bias: make([]float32, classes)}
	known, sum := 0, float32(0)
	x := make([]float64, d)
	for c, n := range counts {
		if n == 0 {
			continue
		}
		mean, w := means[c*d:][:d], out.weights[c*d:][:d]
		for k, v := range mean {
			x[k] = float64(v)
		}
		solveCholesky(factor, x)
		for k, v := range x {
			w[k] = float32(v) * discriminantScale
		}
		out.bias[c] = -product(mean, w) / 2
		known, sum = known+1, sum+out.bias[c]
	}
	// A class without rows must not win by default.
	for c, n := range counts {
		if n == 0 && known > 0 {
			out.bias[c] = sum / float32(known)
		}
	}
	return out
}

// scatter returns the Cholesky factor of the shrunk scatter within the classes;
// nil without a row.
func (e *Embedded) scatter(samples []sample, rows [][]float32, means []float32, used func(int) bool) []float64 {
	d := e.dimensions
	const parts = 2 // not the number of processors: the result must not depend on it
	sums := make([][]float32, parts)
	var wg sync.WaitGroup
	for part := range sums {
		sums[part] = make([]float32, d*d)
		wg.Go(func() {
			diff := make([]float32, d)
			for i := part; i < len(samples); i += parts {
				if !used(i) {
					continue
				}
				mean := means[int(samples[i].class)*d:][:d]
				for k, v := range rows[i] {
					diff[k] = v - mean[k]
				}
				for k, v := range diff {
					axpy(sums[part][k*d:][:k+1], diff[:k+1], v)
				}
			}
		})
	}
	wg.Wait()
	factor, trace := make([]float64, d*d), 0.0
	for i := range factor {
		for _, s := range sums {
			factor[i] += float64(s[i])
		}
	}
	for k := range d {
		trace += factor[k*d+k]
	}
	share := scatterShare / math.Max(trace, 1e-9)
	for i := range factor {
		factor[i] *= share
	}
	for k := range d {
		factor[k*d+k] += (1 - scatterShare) / float64(d)
	}
	for i := range d {
		row := factor[i*d:][:d]
		for j := 0; j <= i; j++ {
			other := factor[j*d:][:d]
			sum := row[j]
			for k := range j {
				sum -= row[k] * other[k]
			}
			if i != j {
				row[j] = sum / other[j]
				continue
			}
			if sum <= 0 {
				return nil
			}
			row[i] = math.Sqrt(sum)
		}
	}
	return factor
}

// solveCholesky replaces b by the solution of the system whose factor is given.
func solveCholesky(factor, b []float64) {
	d := len(b)
	for i := range d {
		for k := range i {
			b[i] -= factor[i*d+k] * b[k]
		}
		b[i] /= factor[i*d+i]
	}
	for i := d - 1; i >= 0; i-- {
		b[i] /= factor[i*d+i]
		for k := range i {
			b[k] -= factor[i*d+k] * b[i]
		}
	}
}

// scores returns the scores of a vector of length 1; nil without a
// discriminant.
func (d *discriminant) scores(vector []float32) []float32 {
	if d == nil {
		return nil
	}
	out := make([]float32, len(d.bias))
	for c, bias := range d.bias {
		out[c] = product(d.weights[c*len(vector):][:len(vector)], vector) + bias
	}
	return out
}
