package encoder

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func vectorKernelsOf(t *testing.T) *kernels {
	t.Helper()
	k := vectorKernels()
	if k == nil {
		t.Skip("this processor has no vector kernels")
	}
	return k
}

func numbers(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func TestVectorKernelsComputeWhatPlainOnesDo(t *testing.T) {
	k, r := vectorKernelsOf(t), rand.New(rand.NewPCG(1, 1)) //nolint:gosec // test data
	for _, n := range []int{16, 64, 128, 528} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			a, b := numbers(r, n), numbers(r, n)
			require.InDelta(t, dot(a, b), k.dot(a, b), 1e-5*float64(n))
			plain, vector := append([]float32{}, a...), append([]float32{}, a...)
			addTimes(plain, b, 0.3)
			k.addTimes(vector, b, 0.3)
			require.InDeltaSlice(t, plain, vector, 1e-6)
		})
	}
}

// Both kinds of matrices of the same file, for one to nine rows.
func TestMatricesInPanelsMultiplyAsThoseOfFloats(t *testing.T) {
	const near = 1e-4
	k, r := vectorKernelsOf(t), rand.New(rand.NewPCG(2, 2)) //nolint:gosec // test data
	for _, size := range []struct{ in, out int }{{8, 16}, {16, 48}, {256, 768}, {1536, 512}} {
		scales, data := make([]float32, size.out), make([]byte, size.in*size.out)
		for i := range scales {
			scales[i] = 0.001 * (1 + r.Float32())
		}
		for i := range data {
			data[i] = byte(r.IntN(256))
		}
		bias := numbers(r, size.out)
		plain := matrix{kernels: &plainKernels, in: size.in, out: size.out, bias: bias, weights: floatWeights(scales, string(data), size.in)}
		vector := matrix{kernels: k, in: size.in, out: size.out, bias: bias, scales: scales, panels: panels(string(data), size.in, size.out)}
		for n := 1; n <= 9; n++ {
			t.Run(fmt.Sprintf("%d rows of %d to %d", n, size.in, size.out), func(t *testing.T) {
				rows := k.rows(n)
				x := numbers(r, rows*size.in)
				want, got := make([]float32, n*size.out), make([]float32, rows*size.out)
				plain.multiply(want, x, n)
				vector.multiply(got, x, rows)
				require.InDeltaSlice(t, want, got[:n*size.out], near)

				// Most are not positive, and in the first tile none is.
				for i := range x {
					x[i] -= 1
				}
				for i := range x[:tileRows*size.in] {
					x[i] = min(x[i], 0)
				}
				var active []int32
				plain.multiplyPositive(want, x, n, &active)
				vector.multiplyPositive(got, x, rows, &active)
				require.InDeltaSlice(t, want, got[:n*size.out], near)
			})
		}
	}
}

func TestVectorsOfEveryLengthAreThoseOfPlainKernels(t *testing.T) {
	const least = 0.999999
	vectorKernelsOf(t)
	both := everyEncoder(t)
	r := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // test data
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 13, 31, maxTokens} {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(r.IntN(both[0].vocabulary.size))
		}
		plain, err := both[0].encode(t.Context(), ids)
		require.NoError(t, err)
		vector, err := both[1].encode(t.Context(), ids)
		require.NoError(t, err)
		require.GreaterOrEqual(t, cosine(plain, vector), least, "%d tokens", n)
		again, err := both[1].encode(t.Context(), ids)
		require.NoError(t, err)
		require.Equal(t, vector, again, "what the memory held before does not matter")
	}
}
