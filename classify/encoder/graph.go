package encoder

import (
	"context"
	"math"
	"slices"
)

const (
	normEpsilon = 1e-6  // added to the mean square of a row: a row of zeros stays one
	lengthFloor = 1e-12 // least squared length that a vector is divided by
)

// scratch is the memory of one text: a row for each token.
type scratch struct {
	x, h, y, out []float32 // up to width wide
	wide         []float32 // up to hiddenWidth wide
	weights      []float32 // of the attention, one for each token
	active       []int32   // the inputs that are not 0
}

func resized(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

func (s *scratch) resize(rows, tokens int) {
	for _, f := range []*[]float32{&s.x, &s.h, &s.y, &s.out} {
		*f = resized(*f, rows*width)
	}
	s.wide = resized(s.wide, rows*hiddenWidth)
	s.weights = resized(s.weights, tokens)
}

// run computes the vector of the tokens.
func (e *Encoder) run(ctx context.Context, s *scratch, ids []int32) ([]float32, error) {
	n := len(ids)
	rows := e.kernels.rows(n) // rows beyond the tokens are never read
	s.resize(rows, n)
	x := s.x[:rows*embeddingWidth]
	clear(x[n*embeddingWidth:])
	e.start(x, ids)
	for i := range e.layers {
		l := &e.layers[i]
		if err := l.attend(ctx, s, x, n); err != nil {
			return nil, err
		}
		if err := l.feedForward(ctx, s, rows); err != nil {
			return nil, err
		}
		x = s.x
	}
	mean := s.h[:width]
	clear(mean)
	for t := range n {
		for i, v := range x[t*width:][:width] {
			mean[i] += v
		}
	}
	for i := range mean {
		mean[i] /= float32(n)
	}
	e.last.multiply(s.y, s.h, e.kernels.rows(1))
	out := slices.Clone(s.y[:Dimensions])
	sum := float32(0)
	for i, v := range out {
		out[i] = float32(math.Tanh(float64(v)))
		sum += out[i] * out[i]
	}
	scale := float32(1 / math.Sqrt(float64(max(sum, lengthFloor))))
	for i := range out {
		out[i] *= scale
	}
	return out, nil
}

// start sets x to the embeddings of the tokens and their positions.
func (e *Encoder) start(x []float32, ids []int32) {
	copy(x, e.positions[:len(ids)*embeddingWidth])
	for t, id := range ids {
		e.embeddings.add(x[t*embeddingWidth:][:embeddingWidth], id)
	}
}

// positions returns a row for each position of a token: the sines first, then the
// cosines.
func positions(timescales []float32) []float32 {
	out := make([]float32, maxTokens*embeddingWidth)
	for t := range maxTokens {
		row := out[t*embeddingWidth:][:embeddingWidth]
		for i, r := range timescales {
			angle := float64(float32(t) * r)
			row[i], row[len(timescales)+i] = float32(math.Sin(angle)), float32(math.Cos(angle))
		}
	}
	return out
}

// attend sets s.y to the attention over x and x itself.
func (l *layer) attend(ctx context.Context, s *scratch, x []float32, n int) error {
	in, rows := l.qkv.in, len(x)/l.qkv.in
	h, qkv := s.h[:rows*in], s.wide[:rows*3*in]
	l.before.apply(h, x, in)
	l.qkv.multiply(qkv, h, rows)
	if err := ctx.Err(); err != nil {
		return err
	}
	l.heads(h, qkv, s.weights, n)
	l.output.multiply(s.y, h, rows)
	if l.residual == nil {
		add(s.y, x)
		return ctx.Err()
	}
	l.residual.multiply(s.out, x, rows)
	add(s.y, s.out)
	return ctx.Err()
}

// heads sets out to the attention of each head, side by side.
func (l *layer) heads(out, qkv, weights []float32, n int) {
	in := l.qkv.in
	k, size := l.qkv.kernels, in/numHeads
	scale := float32(1 / math.Sqrt(float64(size)))
	for head := range numHeads {
		at := head * size
		for t := range n {
			q := qkv[t*3*in+at:][:size]
			most := float32(math.Inf(-1))
			for u := range n {
				weights[u] = scale * k.dot(q, qkv[u*3*in+in+at:][:size])
				most = max(most, weights[u])
			}
			sum := float32(0)
			for u, w := range weights {
				weights[u] = float32(math.Exp(float64(w - most)))
				sum += weights[u]
			}
			row := out[t*in+at:][:size]
			clear(row)
			for u, w := range weights {
				k.addTimes(row, qkv[u*3*in+2*in+at:][:size], w/sum)
			}
		}
	}
}

// feedForward sets s.x to s.y and the feed-forward part of it.
func (l *layer) feedForward(ctx context.Context, s *scratch, rows int) error {
	l.between.apply(s.h, s.y, width)
	l.hidden.multiply(s.wide, s.h, rows)
	if err := ctx.Err(); err != nil {
		return err
	}
	s.x = resized(s.x, rows*width)
	l.shrink.multiplyPositive(s.x, s.wide, rows, &s.active)
	add(s.x, s.y)
	return ctx.Err()
}

// apply sets out to the normalised rows of x, each of n numbers.
func (l *layerNorm) apply(out, x []float32, n int) {
	for len(x) > 0 {
		sum := float32(0)
		for _, v := range x[:n] {
			sum += v
		}
		mean := sum / float32(n)
		sum = 0
		for _, v := range x[:n] {
			sum += (v - mean) * (v - mean)
		}
		scale := float32(1 / math.Sqrt(float64(sum/float32(n)+normEpsilon)))
		for i, v := range x[:n] {
			out[i] = l.scale[i]*(v-mean)*scale + l.bias[i]
		}
		out, x = out[n:], x[n:]
	}
}

// multiply sets the n rows of out to those of x times the matrix, and its bias.
// Eight rows of the matrix serve all rows of x before the next eight: they stay
// in the processor's cache. With panels n is a multiple of four, and a panel serves
// all rows before the next.
func (m *matrix) multiply(out, x []float32, n int) {
	if m.panels != nil {
		m.multiplyTiles(out, x, n)
		return
	}
	for t := range n {
		copy(out[t*m.out:][:m.out], m.bias)
	}
	for k := 0; k+8 <= m.in; k += 8 {
		w := m.weights[k*m.out:][:8*m.out]
		for t := range n {
			addRows(out[t*m.out:][:m.out], (*[8]float32)(x[t*m.in+k:]), w)
		}
	}
}

// multiplyPositive is multiply for the numbers of x that are greater than 0; the
// others, which are most, count as 0.
func (m *matrix) multiplyPositive(out, x []float32, n int, active *[]int32) {
	if m.panels != nil {
		m.multiplyPositiveTiles(out, x, n, active)
		return
	}
	for t := range n {
		y, row := out[t*m.out:][:m.out], x[t*m.in:][:m.in]
		copy(y, m.bias)
		found := (*active)[:0]
		for k, v := range row {
			if v > 0 {
				found = append(found, int32(k))
			}
		}
		*active = found
		for ; len(found) >= 4; found = found[4:] {
			a, b, c, d := int(found[0]), int(found[1]), int(found[2]), int(found[3])
			va, vb, vc, vd := row[a], row[b], row[c], row[d]
			ra, rb, rc, rd := m.weights[a*m.out:][:len(y)], m.weights[b*m.out:][:len(y)], m.weights[c*m.out:][:len(y)], m.weights[d*m.out:][:len(y)]
			for j := range y {
				y[j] += va*ra[j] + vb*rb[j] + vc*rc[j] + vd*rd[j]
			}
		}
		for _, k := range found {
			v, r := row[k], m.weights[int(k)*m.out:][:len(y)]
			for j := range y {
				y[j] += v * r[j]
			}
		}
	}
}

func (m *matrix) multiplyTiles(out, x []float32, n int) {
	for c := 0; c < m.out; c += panelWidth {
		panel, scales, bias := m.panel(c)
		for t := 0; t < n; t += tileRows {
			m.kernels.tile(m.tileOf(out, t, c), m.out, x[t*m.in:][:tileRows*m.in], m.in, panel, scales, bias)
		}
	}
}

// multiplyPositiveTiles skips the columns of x that are 0 in all four rows of a
// tile. It sets the negative numbers of x to 0.
func (m *matrix) multiplyPositiveTiles(out, x []float32, n int, active *[]int32) {
	for t := 0; t < n; t += tileRows {
		rows := x[t*m.in:][:tileRows*m.in]
		*active = positive(rows, m.in, (*active)[:0])
		for c := 0; c < m.out; c += panelWidth {
			panel, scales, bias := m.panel(c)
			m.kernels.sparseTile(m.tileOf(out, t, c), m.out, rows, m.in, panel, scales, bias, *active)
		}
	}
}

// panel returns the panel that begins with a column, and its scales and bias.
func (m *matrix) panel(column int) (panel []int8, scales, bias []float32) {
	return m.panels[column*m.in:][:panelWidth*m.in], m.scales[column:][:panelWidth], m.bias[column:][:panelWidth]
}

// tileOf returns out from a row and column to the last number of the tile there.
func (m *matrix) tileOf(out []float32, row, column int) []float32 {
	return out[row*m.out+column:][:(tileRows-1)*m.out+panelWidth]
}

// positive sets the negative numbers of four rows of x to 0, and appends the
// columns where not all four are 0 to active.
func positive(x []float32, in int, active []int32) []int32 {
	a, b, c, d := x[:in], x[in:][:in], x[2*in:][:in], x[3*in:][:in]
	for k := range a {
		a[k], b[k], c[k], d[k] = max(a[k], 0), max(b[k], 0), max(c[k], 0), max(d[k], 0)
		if a[k]+b[k]+c[k]+d[k] > 0 {
			active = append(active, int32(k))
		}
	}
	return active
}

// addRows adds eight rows of w, each times its factor, to y.
func addRows(y []float32, x *[8]float32, w []float32) {
	n := len(y)
	x0, x1, x2, x3, x4, x5, x6, x7 := x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
	r0, r1, r2, r3 := w[:n], w[n:][:n], w[2*n:][:n], w[3*n:][:n]
	r4, r5, r6, r7 := w[4*n:][:n], w[5*n:][:n], w[6*n:][:n], w[7*n:][:n]
	for j := range y {
		y[j] += (x0*r0[j] + x1*r1[j] + x2*r2[j] + x3*r3[j]) + (x4*r4[j] + x5*r5[j] + x6*r6[j] + x7*r7[j])
	}
}

func add(y, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += x[i]
	}
}
