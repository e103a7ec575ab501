package encoder

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

//go:embed weights/use-lite.bin
var bundled string

// The first bytes of a weights file, by the form of its matrices.
const (
	magicInt8    = "USEL1\n"
	magicFloat32 = "USEF1\n"
)

// errWeights reports a weights file that is truncated or has another format.
var errWeights = errors.New("wrong weights file")

// The shape of the model, in numbers of a vector, layers and heads: it is part of
// the weights.
const (
	embeddingWidth = 256
	width          = Dimensions
	hiddenWidth    = 3 * width
	numLayers      = 2
	numHeads       = 4
	// maxPieces bounds the vocabulary of a file; the real one has 8,000 pieces.
	maxPieces = 1 << 14
	// spareRows are embeddings beyond the vocabulary.
	spareRows = 2
)

// matrix maps in numbers to out: y = xW + b. It has panels and their scales, one
// for each column, if the kernels multiply tiles; else it has weights.
type matrix struct {
	kernels *kernels
	in, out int
	weights []float32 // [in][out]
	panels  []int8    // [out/16][in][16]
	scales  []float32
	bias    []float32
}

// layerNorm is the scale and the bias of a layer normalisation.
type layerNorm struct{ scale, bias []float32 }

type layer struct {
	before         layerNorm // of the attention
	qkv, output    matrix
	residual       *matrix   // nil if the input is added unchanged
	between        layerNorm // of the feed-forward part
	hidden, shrink matrix
}

// embeddings holds a row for each piece, as floats, or as bytes with a scale.
type embeddings struct {
	scales []float32
	bytes  string
	floats []float32
}

// add adds twice the row of a piece to x, as the graph does.
func (e *embeddings) add(x []float32, id int32) {
	at := int(id) * embeddingWidth
	if e.floats != nil {
		for i, v := range e.floats[at:][:len(x)] {
			x[i] += 2 * v
		}
		return
	}
	scale, row := 2*e.scales[id], e.bytes[at:][:len(x)]
	for i := range x {
		x[i] += scale * float32(int8(row[i]))
	}
}

// weightReader reads a weights file, little endian, and remembers the first
// error.
type weightReader struct {
	rest    string
	float   bool // matrices are float32, not int8
	kernels *kernels
	err     error
}

func (r *weightReader) take(n int) string {
	if n > len(r.rest) {
		r.err = fmt.Errorf("%w: %d bytes are missing", errWeights, n-len(r.rest))
	}
	if r.err != nil {
		return ""
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *weightReader) floats(n int) []float32 {
	data := []byte(r.take(4 * n))
	if r.err != nil {
		return nil
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

func (r *weightReader) norm(n int) layerNorm { return layerNorm{r.floats(n), r.floats(n)} }

// matrix reads int8 weights, with a scale for each column. If they are not
// multiplied in tiles they become float32, which is faster.
func (r *weightReader) matrix(in, out int) matrix {
	m := matrix{kernels: r.kernels, in: in, out: out}
	if r.float {
		m.weights = r.floats(in * out)
	} else {
		scales, data := r.floats(out), r.take(in*out)
		if r.err != nil {
			return m
		}
		if r.kernels.tile != nil {
			m.panels, m.scales = panels(data, in, out), scales
		} else {
			m.weights = floatWeights(scales, data, in)
		}
	}
	m.bias = r.floats(out)
	return m
}

func floatWeights(scales []float32, data string, in int) []float32 {
	out := len(scales)
	weights := make([]float32, in*out)
	for i := range in {
		row, from := weights[i*out:][:out], data[i*out:][:out]
		for j := range row {
			row[j] = scales[j] * float32(int8(from[j]))
		}
	}
	return weights
}

func (r *weightReader) embeddings(rows int) embeddings {
	if r.float {
		return embeddings{floats: r.floats(rows * embeddingWidth)}
	}
	return embeddings{scales: r.floats(rows), bytes: r.take(rows * embeddingWidth)}
}

func (r *weightReader) vocabulary() vocabulary {
	head := r.take(2)
	if r.err != nil {
		return vocabulary{}
	}
	n := int(binary.LittleEndian.Uint16([]byte(head)))
	if n > maxPieces {
		r.err = fmt.Errorf("%w: %d pieces", errWeights, n)
		return vocabulary{}
	}
	v := newVocabulary(n)
	for id := range n {
		size := r.take(1)
		if r.err != nil {
			break
		}
		piece := r.take(int(size[0]))
		if score := r.floats(1); r.err == nil {
			v.add(piece, int32(id), score[0])
		}
	}
	return v
}

func (r *weightReader) layer(in int) layer {
	l := layer{before: r.norm(in), qkv: r.matrix(in, 3*in), output: r.matrix(in, width)}
	if in != width {
		residual := r.matrix(in, width)
		l.residual = &residual
	}
	l.between, l.hidden, l.shrink = r.norm(width), r.matrix(width, hiddenWidth), r.matrix(hiddenWidth, width)
	return l
}

// parse reads a weights file for the kernels. Float weights have the plain ones.
func parse(data string, k *kernels) (*Encoder, error) {
	r := &weightReader{rest: data, kernels: k}
	switch magic := r.take(len(magicInt8)); magic {
	case magicInt8:
	case magicFloat32:
		r.float, r.kernels = true, &plainKernels
	default:
		return nil, fmt.Errorf("%w: it begins with %q", errWeights, magic)
	}
	e := &Encoder{kernels: r.kernels, vocabulary: r.vocabulary()}
	e.embeddings = r.embeddings(e.vocabulary.size + spareRows)
	e.positions = positions(r.floats(embeddingWidth / 2))
	for i := range e.layers {
		in := width
		if i == 0 {
			in = embeddingWidth
		}
		e.layers[i] = r.layer(in)
	}
	e.last = r.matrix(width, width)
	if r.err == nil && r.rest != "" {
		r.err = fmt.Errorf("%w: %d surplus bytes", errWeights, len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	return e, nil
}
