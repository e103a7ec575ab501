package local

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProductInt8(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // repeatable
	for _, n := range []int{0, 1, 15, 16, 17, 37, 512, 513, 1000, 4096} {
		some, a, b := make([]byte, n+1), make([]byte, n), make([]int16, n)
		for i := range n {
			a[i], b[i] = byte(random.Uint32()), int16(random.Uint32())
		}
		require.Equal(t, productPlain(a, b), productInt8(a, b), "%d random numbers", n)
		copy(some[1:], a)
		require.Equal(t, productPlain(a, b), productInt8(some[1:], b), "%d at an odd address", n)
		for i := range n {
			a[i], b[i] = 0x81, math.MaxInt16 // -127
		}
		require.Equal(t, -127*math.MaxInt16*n, productInt8(a, b), "%d of the greatest", n)
	}
}
