package local

import (
	_ "embed"
	"encoding/binary"
	"hash/crc32"
	"math"

	"intenthint/intents"
)

// shippedFile is what training on the built-in intents gives, as written by
// [EncodeShipped]. It is used where it lies.
//
//go:embed shipped.bin
var shippedFile []byte

const shippedMagic = "ihmod\x00\x00\x02"

// shippedHead are the numbers of a shipped model.
type shippedHead struct {
	Texts            uint32 // see [fingerprint]
	Vectors          uint32 // the checksum of the vectors
	Common, Shared   uint32
	Features         uint32
	Ratio            float32
	InScope, Correct logistic
	// Of an [Embedded].
	Mix                              [4]float32
	EmbeddedInScope, EmbeddedCorrect logistic
}

// shipped is a model in a file.
type shipped struct {
	head     shippedHead
	lexicon  lexicon
	postings postings
	weights  weights
	floats   shippedFloats
	rows     placed
}

// shippedFloats are the arrays that are too small to be used where they lie.
type shippedFloats struct {
	constant, absent []byte // of weights
	// Of an [Embedded]: of its head by block, of its discriminant, and the mean.
	head, headConstant [maxBlocks][]byte
	linear, bias, mean []byte
}

// sections returns the parts of a file in their order.
func (s *shipped) sections() []*[]byte {
	l, p, w, f := &s.lexicon, &s.postings, &s.weights, &s.floats
	out := []*[]byte{
		&l.worths, (*[]byte)(&p.common), (*[]byte)(&p.rare), (*[]byte)(&p.single), &p.lists, (*[]byte)(&p.scales),
		&w.common, (*[]byte)(&w.commonScale), (*[]byte)(&w.dual), (*[]byte)(&w.dualClass), &w.dualValue, (*[]byte)(&w.dualScale),
		&f.constant, &f.absent, &f.linear, &f.bias, &f.mean, (*[]byte)(&s.rows.places), (*[]byte)(&s.rows.inverse),
	}
	for _, t := range []*table{&l.common, &l.rare, &l.single} {
		out = append(out, (*[]byte)(&t.starts), (*[]byte)(&t.marks))
	}
	for i := range f.head {
		out = append(out, &f.head[i], &f.headConstant[i])
	}
	return out
}

// encode returns the file.
func (s *shipped) encode() ([]byte, error) {
	head, err := binary.Append(nil, binary.LittleEndian, &s.head)
	if err != nil {
		return nil, err
	}
	sections := [][]byte{head}
	for _, section := range s.sections() {
		sections = append(sections, *section)
	}
	return append([]byte(shippedMagic), pack(sections...)...), nil
}

// openShipped returns the model in a file; nil for a file in another format.
func openShipped(file []byte) *shipped {
	if len(file) < len(shippedMagic) || string(file[:len(shippedMagic)]) != shippedMagic {
		return nil
	}
	var (
		s    shipped
		head []byte
	)
	if !unpack(file[len(shippedMagic):], append([]*[]byte{&head}, s.sections()...)...) {
		return nil
	}
	if n, err := binary.Decode(head, binary.LittleEndian, &s.head); err != nil || n != len(head) {
		return nil
	}
	return &s
}

// shippedFor returns the shipped model for the texts; nil unless they are those of the
// built-in intents, and are read as they were when it was made.
func shippedFor(samples []sample) *shipped {
	if s := openShipped(shippedFile); s != nil && s.head.Texts == fingerprint(samples) {
		return s
	}
	return nil
}

// EncodeShipped trains on the built-in intents and the vectors of their texts, which the
// running system finds in file, and returns the file to ship. Errors are those of
// [TrainEmbedded].
func EncodeShipped(vectors map[string][]float32, file Vectors) ([]byte, error) {
	m := newModel(intents.Bundled())
	m.train()
	e, err := TrainEmbedded(m, vectors)
	if err != nil {
		return nil, err
	}
	return shippedOf(m, e, vectors, file).encode()
}

// shippedOf returns what is shipped of trained models.
func shippedOf(m *Model, e *Embedded, vectors map[string][]float32, file Vectors) *shipped {
	s := &shipped{lexicon: *m.lexicon, postings: m.postings, weights: m.weights}
	s.head = shippedHead{
		Texts: fingerprint(m.samples), Vectors: file.Sum(),
		Common: uint32(m.lexicon.nCommon), Shared: uint32(m.lexicon.nShared), Features: uint32(m.lexicon.n),
		Ratio: m.weights.ratio, InScope: m.inScope, Correct: m.correct,
		Mix:             [4]float32{e.mix.words, e.mix.head, e.mix.nearest, e.mix.linear},
		EmbeddedInScope: e.inScope, EmbeddedCorrect: e.correct,
	}
	f := &s.floats
	f.constant, f.absent = floats(m.weights.constant), floats(m.weights.absent)
	f.linear, f.bias, f.mean = floats(e.linear.weights), floats(e.linear.bias), floats(e.mean)
	for i := range e.blocks {
		f.head[i], f.headConstant[i] = floats(e.blocks[i].weights), floats(e.blocks[i].constant)
	}
	s.rows = placedIn(file, m.samples, vectors, e.mean)
	return s
}

// placedIn returns the places of the rows that have a vector in a file.
func placedIn(file Vectors, samples []sample, vectors map[string][]float32, mean []float32) placed {
	p := placed{numbers: file.Numbers(), size: len(mean)}
	for i := range samples {
		at := 0
		if t := textOf(samples[i].text); vectors[t] != nil {
			at = file.Place(t) + 1
		}
		p.places = p.places.add(uint32(at))
	}
	for i := range len(p.numbers) / p.bytes() {
		p.measure(i, mean)
	}
	return p
}

// use makes the model the shipped one.
func (m *Model) use(s *shipped) {
	h, l, p := &s.head, &s.lexicon, &s.postings
	l.nCommon, l.nShared, l.n = int(h.Common), int(h.Shared), int(h.Features)
	for _, t := range []*table{&l.common, &l.rare, &l.single} {
		*t = openTable(t.starts, t.marks)
	}
	l.byUsers = worthByUsers(len(m.intents), nil)
	l.unknown = l.byUsers[0]
	p.firstRow = firstRows(m.samples, len(m.intents))
	p.class, p.nCommon, p.nShared = classes(p.firstRow), l.nCommon, l.nShared
	w := &s.weights
	w.classes, w.ratio = len(m.intents)+1, h.Ratio
	w.constant, w.absent = f32s(s.floats.constant).all(), f32s(s.floats.absent).all()
	m.lexicon, m.postings, m.weights, m.inScope, m.correct, m.shipped = l, *p, *w, h.InScope, h.Correct, s
}

// ShippedEmbedded returns the shipped model that goes by vectors as well as by m; nil
// unless m is the shipped one, and what was made with these vectors.
func ShippedEmbedded(m *Model, file Vectors) *Embedded {
	s := m.shipped
	if s == nil || s.head.Vectors != file.Sum() {
		return nil
	}
	h, f := &s.head, &s.floats
	e := &Embedded{words: m, blocks: newBlocks(len(m.intents)), mean: f32s(f.mean).all(), rows: s.rows}
	e.dimensions, e.rows.numbers = len(e.mean), file.Numbers()
	e.number()
	for i := range e.blocks {
		e.blocks[i].weights, e.blocks[i].constant = f32s(f.head[i]).all(), f32s(f.headConstant[i]).all()
	}
	e.linear = &discriminant{weights: f32s(f.linear).all(), bias: f32s(f.bias).all()}
	e.mix = mix{words: h.Mix[0], head: h.Mix[1], nearest: h.Mix[2], linear: h.Mix[3]}
	e.inScope, e.correct = h.EmbeddedInScope, h.EmbeddedCorrect
	return e
}

// everyText is the distance of the texts whose features are part of a fingerprint: to read
// all takes half a second.
const everyText = 64

// fingerprint returns a checksum of the texts, their classes and costs, and of how texts
// are read: of the features of some, and of the concepts of all words.
func fingerprint(samples []sample) uint32 {
	var (
		t     reading
		feats []feature
		b     []byte
		sum   uint32
	)
	for i := range samples {
		s := &samples[i]
		b = append(append(b[:0], s.text...), 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(s.class))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(s.cost()))
		if i%everyText == 0 {
			t.reset(s.text)
			feats = appendFeatures(feats[:0], &t)
			for _, f := range feats {
				b = binary.LittleEndian.AppendUint64(b, f.hash)
			}
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
	}
	all := uint64(0) // whatever the order
	for word, concept := range conceptOf {
		all += hashEnd(word*hashPrime^concept, viewConcept)
	}
	return crc32.Update(sum, crc32.IEEETable, binary.LittleEndian.AppendUint64(b[:0], all))
}
