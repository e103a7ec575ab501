package encoder

const (
	panelWidth = 16 // columns of a matrix that a tile has
	tileRows   = 4  // tokens that a tile has: with 16 columns, what the registers hold
)

// kernels are the inner loops, which take nearly all of the time.
type kernels struct {
	// dot returns the sum of a[i]*b[i]. The lengths are equal and multiples of 16.
	dot func(a, b []float32) float32
	// addTimes adds factor*x[i] to y[i]. The lengths are equal and multiples of 16.
	addTimes func(y, x []float32, factor float32)
	// tile sets 16 columns of four rows of out, which begin outWidth apart: row r is
	// the sum of x[r*xWidth+k]*panel[k*16+column] over k, times the scale of the
	// column, plus its bias. It is nil if matrices are not cut into panels.
	tile func(out []float32, outWidth int, x []float32, xWidth int, panel []int8, scales, bias []float32)
	// sparseTile is tile over the active k only.
	sparseTile func(out []float32, outWidth int, x []float32, xWidth int, panel []int8, scales, bias []float32, active []int32)
}

var plainKernels = kernels{dot: dot, addTimes: addTimes}

// rows returns how many rows are computed for a number of tokens.
func (k *kernels) rows(tokens int) int {
	if k.tile == nil {
		return tokens
	}
	return (tokens + tileRows - 1) / tileRows * tileRows
}

func dot(a, b []float32) float32 {
	b = b[:len(a)]
	sum := float32(0)
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func addTimes(y, x []float32, factor float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += factor * x[i]
	}
}

// panels returns int8 weights [in][out] by panels of 16 columns: [out/16][in][16].
func panels(data string, in, out int) []int8 {
	p := make([]int8, 0, in*out)
	for column := 0; column < out; column += panelWidth {
		for row := range in {
			for _, b := range []byte(data[row*out+column:][:panelWidth]) {
				p = append(p, int8(b))
			}
		}
	}
	return p
}
