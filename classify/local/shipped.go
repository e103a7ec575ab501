package local

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/gob"
	"hash/crc32"
	"math"
	"sync"

	"intenthint/intents"
)

// shippedFile is the result of training on the built-in intents, as written by
// [EncodeShipped]. It replaces training at the start.
//
//go:embed shipped.bin
var shippedFile []byte

// shipped is the content of the file. Anything that is cheap to derive from the
// texts, such as their features, is not in it.
type shipped struct {
	// Texts is the fingerprint of the texts.
	Texts            uint32
	Duals            duals
	InScope, Correct logistic
	Embedded         shippedEmbedded
}

// shippedEmbedded is the part for an [Embedded].
type shippedEmbedded struct {
	// Vectors is the fingerprint of the vectors.
	Vectors          uint32
	Head, Constant   [][]float32 // by block
	Linear, Bias     []float32   // of the discriminant
	Mix              [4]float32
	InScope, Correct logistic
}

// duals are the dual variables of a solver that are not zero, row by row.
type duals struct {
	Counts  []uint16 // by row: how many of the following entries belong to it
	Classes []uint16
	Values  []byte // the upper half of each float32, big endian
}

// half is how many bytes of a value are kept: eight bits of precision.
const half = 2

var readShipped = sync.OnceValue(func() *shipped {
	s := new(shipped)
	if gob.NewDecoder(bytes.NewReader(shippedFile)).Decode(s) != nil {
		return nil
	}
	return s
})

// shippedFor returns the shipped training result for the texts; nil unless they
// are those of the built-in intents.
func shippedFor(samples []sample) *shipped {
	if s := readShipped(); s != nil && s.Texts == fingerprint(samples) {
		return s
	}
	return nil
}

// EncodeShipped trains on the built-in intents and the vectors of their texts, and
// returns the file to ship. Errors are those of [TrainEmbedded].
func EncodeShipped(vectors map[string][]float32) ([]byte, error) {
	m := newModel(intents.Bundled())
	s := m.learn()
	s.run(maxEpochs, 1, nil)
	m.calibrate(s)
	out := shipped{Texts: fingerprint(m.samples), Duals: s.duals(), InScope: m.inScope, Correct: m.correct}
	m.weights = newWeights(s, m.lexicon.nCommon)
	e, err := trainEmbedded(m, vectors, nil)
	if err != nil {
		return nil, err
	}
	out.Embedded = shippedEmbedded{
		Vectors: e.fingerprint(), Linear: e.linear.weights, Bias: e.linear.bias,
		Mix: [4]float32{e.mix.words, e.mix.head, e.mix.nearest, e.mix.linear}, InScope: e.inScope, Correct: e.correct,
	}
	for i := range e.blocks {
		out.Embedded.Head = append(out.Embedded.Head, e.blocks[i].weights)
		out.Embedded.Constant = append(out.Embedded.Constant, e.blocks[i].constant)
	}
	var file bytes.Buffer
	err = gob.NewEncoder(&file).Encode(&out)
	return file.Bytes(), err
}

// use applies the shipped result, and reports whether it was made for these
// vectors.
func (e *Embedded) use(s *shippedEmbedded) bool {
	if s.Vectors != e.fingerprint() {
		return false
	}
	e.blocks = newBlocks(len(e.words.intents))
	for i := range e.blocks {
		e.blocks[i].weights, e.blocks[i].constant = s.Head[i], s.Constant[i]
	}
	e.linear = &discriminant{weights: s.Linear, bias: s.Bias}
	e.mix = mix{words: s.Mix[0], head: s.Mix[1], nearest: s.Mix[2], linear: s.Mix[3]}
	e.inScope, e.correct = s.InScope, s.Correct
	return true
}

// duals returns the result of run.
func (s *solver) duals() duals {
	var out duals
	for i := range s.rows.len() {
		before := len(out.Classes)
		for _, b := range s.blocks {
			for c, a := range b.alpha[i*b.width : (i+1)*b.width] {
				if a != 0 {
					upper := (math.Float32bits(a) + 1<<15) >> 16
					out.Classes, out.Values = append(out.Classes, uint16(b.first+c)), binary.BigEndian.AppendUint16(out.Values, uint16(upper))
				}
			}
		}
		out.Counts = append(out.Counts, uint16(len(out.Classes)-before))
	}
	return out
}

// restore puts the solver into the state after the run that found the duals.
func (s *solver) restore(d duals) {
	s.each(func(b *block) {
		at := 0
		classes, change := make([]int32, 0, b.width), make([]float32, 0, b.width)
		for i, n := range d.Counts {
			classes, change = classes[:0], change[:0]
			for ; n > 0; n, at = n-1, at+1 {
				c := int(d.Classes[at]) - b.first
				if c < 0 || c >= b.width {
					continue
				}
				a := math.Float32frombits(uint32(binary.BigEndian.Uint16(d.Values[half*at:])) << 16)
				b.alpha[i*b.width+c] = a
				if s.class(i)-b.first != c {
					a = -a
				}
				classes, change = append(classes, int32(c)), append(change, a)
			}
			scatter(b.constant, classes, change, constantValue)
			ids, values := s.rows.sharedRow(i)
			for k, id := range ids {
				scatter(b.weights[int(id)*b.width:][:b.width], classes, change, values[k])
			}
		}
	})
}

// fingerprint returns a checksum of the texts, their classes and costs.
func fingerprint(samples []sample) uint32 {
	var b []byte
	for _, sm := range samples {
		b = append(append(b, sm.text...), 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(sm.class))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(sm.cost()))
	}
	return crc32.ChecksumIEEE(b)
}

// fingerprint returns a checksum of the vectors.
func (e *Embedded) fingerprint() uint32 {
	sum := uint32(0)
	var b []byte
	for i, row := range e.rows {
		b = binary.LittleEndian.AppendUint32(b[:0], uint32(i))
		for _, x := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
	}
	return sum
}
