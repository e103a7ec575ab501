package local

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"intenthint/intents"
)

// formatVersion is raised whenever the binary form changes, or what training
// makes of a catalogue: a model of another version is not read but trained.
const formatVersion = 3

// The binary form is a header and a payload, little-endian:
//
//	magic     8 bytes
//	version   uint32
//	identity  32 bytes, see [identity]
//	checksum  uint32, CRC-32C of the payload
//
//	features, classes, rows, entries  uint32
//	unknown   float32
//	inScope, correct  numSignals float64 each
//	keys      uint64 by feature
//	views     byte by feature
//	worth     float32 by feature
//	weights   float32 by block, feature, class
//	starts    int32 by row, and one more
//	ids       int32 by entry
//	values    float32 by entry
//
// The entries are the vectors of the examples. What the catalogue says itself
// is not in it.
const (
	magic         = "hintlocl"
	headerSize    = len(magic) + 4 + sha256.Size + 4
	countsSize    = 4*4 + 4 + 2*8*numSignals
	maxCount      = 1 << 28    // of anything
	maxValue      = 1 << 20    // of a number: sums of many are still finite
	maxProbes     = 16         // of the dictionary, for each feature
	magnitudeMask = 1<<31 - 1  // all bits of a float32 but its sign
	minWorth      = 1.0 / 1024 // of a feature
)

// Errors of [Read].
var (
	// ErrOther says that the data is a model, but not that of the catalogue.
	ErrOther = errors.New("another model")
	// ErrDamaged says that the data is no model.
	ErrDamaged = errors.New("damaged model")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// identity names all that training depends on: the catalogue's texts, by
// intent, and the tables with which they are read. Names and prompts of intents
// are not learnt.
func identity(root *intents.Catalog) (id [sha256.Size]byte) {
	var b []byte
	count := func(n int) { b = binary.LittleEndian.AppendUint32(b, uint32(n)) }
	texts := func(texts ...string) {
		count(len(texts))
		for _, t := range texts {
			count(len(t))
			b = append(b, t...)
		}
	}
	count(formatVersion)
	texts(unicode.Version, norm.Version, concepts, simplifiedPairs)
	count(len(root.Enabled()))
	for _, in := range root.Enabled() {
		texts(in.ID)
		texts(in.Triggers...)
		texts(in.Examples...)
	}
	texts(root.Fallback().Examples...)
	return sha256.Sum256(b)
}

// AppendBinary implements [encoding.BinaryAppender]: it appends what [Read]
// makes the model of again, given an equal catalogue. The error is always nil.
func (m *Model) AppendBinary(b []byte) ([]byte, error) {
	id := identity(m.catalog)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, formatVersion)
	b = append(b, id[:]...)
	sum := len(b)
	b = append(b, 0, 0, 0, 0)
	payload := len(b)

	n, e := int(m.space.dict.n), &m.examples
	for _, count := range []int{n, len(m.intents), len(e.texts), len(e.ids)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(count))
	}
	b = appendFloats(b, []float32{m.space.unknown})
	for _, l := range []*logistic{&m.inScope, &m.correct} {
		for _, v := range l {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	keys := make([]uint64, n)
	for i, key := range m.space.dict.keys {
		if key != 0 {
			keys[m.space.dict.ids[i]] = key
		}
	}
	for _, key := range keys {
		b = binary.LittleEndian.AppendUint64(b, key)
	}
	for _, v := range m.space.views {
		b = append(b, byte(v))
	}
	b = appendFloats(b, m.space.worth)
	for i := range m.blocks {
		b = appendFloats(b, m.blocks[i].weights)
	}
	b = appendInts(b, e.starts)
	b = appendInts(b, e.ids)
	b = appendFloats(b, e.values)
	binary.LittleEndian.PutUint32(b[sum:], crc32.Checksum(b[payload:], castagnoli))
	return b, nil
}

func appendFloats(b []byte, values []float32) []byte {
	from := len(b)
	b = append(b, make([]byte, 4*len(values))...)
	out := b[from:]
	for i, v := range values {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
	}
	return b
}

func appendInts(b []byte, values []int32) []byte {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// Read returns the model that [Model.AppendBinary] wrote as data, for a catalogue
// that is equal, in what is learnt, to the one it was trained on. Errors wrap
// [ErrOther] or [ErrDamaged]. The model does not refer to data.
func Read(cat *intents.Catalog, data []byte) (*Model, error) {
	return read(cat, identity(cat.Root()), data)
}

func read(cat *intents.Catalog, id [sha256.Size]byte, data []byte) (*Model, error) {
	if err := checkHeader(data, id); err != nil {
		return nil, err
	}
	m := newModel(cat)
	samples := samplesOf(m.catalog)
	d := &decoder{data: data[headerSize:]}
	if crc32.Checksum(d.data, castagnoli) != binary.LittleEndian.Uint32(data[headerSize-4:]) {
		return nil, fmt.Errorf("%w: the checksum is wrong", ErrDamaged)
	}
	n, entries, err := d.counts(len(m.intents), len(samples))
	if err != nil {
		return nil, err
	}
	described := make(chan examples, 1)
	go func() { described <- newExamples(samples, len(m.intents)) }()
	m.space = &space{unknown: d.float()}
	m.inScope, m.correct = d.logistic(), d.logistic()
	m.space.dict = d.dictionary(n)
	m.space.views = d.views(n)
	m.space.worth = d.floats(n)
	for _, w := range m.space.worth {
		d.require(w >= minWorth, "a worth")
	}
	m.blocks = newBlocks(len(m.intents))
	for i := range m.blocks {
		m.blocks[i].weights = d.floats(n * m.blocks[i].width)
	}
	m.examples = <-described
	m.examples.starts = d.starts(len(samples), entries)
	m.examples.ids = d.ids(entries, n)
	m.examples.values = d.floats(entries)
	if d.bad != "" {
		return nil, fmt.Errorf("%w: %s is out of its range", ErrDamaged, d.bad)
	}
	return m, nil
}

func checkHeader(data []byte, id [sha256.Size]byte) error {
	if len(data) < headerSize+countsSize || string(data[:len(magic)]) != magic {
		return fmt.Errorf("%w: it does not begin like one", ErrDamaged)
	}
	rest := data[len(magic):]
	if v := binary.LittleEndian.Uint32(rest); v != formatVersion {
		return fmt.Errorf("%w: version %d, not %d", ErrOther, v, formatVersion)
	}
	if [sha256.Size]byte(rest[4:]) != id {
		return fmt.Errorf("%w: of another catalogue", ErrOther)
	}
	return nil
}

// decoder reads the payload. counts has made sure that there is enough of it.
type decoder struct {
	data []byte
	bad  string // what was not in its range; "" for nothing
}

func (d *decoder) require(ok bool, what string) {
	if !ok {
		d.bad = what
	}
}

func (d *decoder) take(n int) []byte {
	out := d.data[:n]
	d.data = d.data[n:]
	return out
}

// counts reads how much of everything there is, and checks it against the
// catalogue and the length of the payload.
func (d *decoder) counts(classes, rows int) (features, entries int, err error) {
	var counts [4]int
	for i, b := 0, d.take(4*len(counts)); i < len(counts); i++ {
		counts[i] = int(min(binary.LittleEndian.Uint32(b[4*i:]), maxCount+1))
		if counts[i] > maxCount {
			return 0, 0, fmt.Errorf("%w: a count is too large", ErrDamaged)
		}
	}
	features, entries = counts[0], counts[3]
	if counts[1] != classes || counts[2] != rows {
		return 0, 0, fmt.Errorf("%w: of %d intents and %d texts, not %d and %d", ErrDamaged, counts[1], counts[2], classes, rows)
	}
	left := uint64(countsSize-16) + uint64(features)*uint64(8+1+4+4*classes) + 4*uint64(rows+1) + 8*uint64(entries)
	if left != uint64(len(d.data)) {
		return 0, 0, fmt.Errorf("%w: its length is wrong", ErrDamaged)
	}
	return features, entries, nil
}

func (d *decoder) float() float32 { return d.floats(1)[0] }

// floats reads n numbers, of which none may be so large that a sum of many is
// not finite.
func (d *decoder) floats(n int) []float32 {
	in, out := d.take(4*n), make([]float32, n)
	largest := uint32(0) // absolute values are in the order of their bits
	for i := range out {
		bits := binary.LittleEndian.Uint32(in[4*i:])
		largest = max(largest, bits&magnitudeMask)
		out[i] = math.Float32frombits(bits)
	}
	d.require(math.Float32frombits(largest) <= maxValue, "a number")
	return out
}

func (d *decoder) logistic() (l logistic) {
	in := d.take(8 * len(l))
	for i := range l {
		l[i] = math.Float64frombits(binary.LittleEndian.Uint64(in[8*i:]))
		d.require(math.Abs(l[i]) <= maxValue, "a number")
	}
	return l
}

func (d *decoder) dictionary(n int) *dictionary {
	in, out := d.take(8*n), newDictionary(n)
	probes := 0
	for id := range n {
		key := binary.LittleEndian.Uint64(in[8*id:])
		if d.require(key != 0 && probes <= maxProbes*n, "a feature"); d.bad != "" {
			return nil
		}
		probes += out.put(key, int32(id))
	}
	out.n = int32(n)
	return out
}

func (d *decoder) views(n int) []view {
	out := make([]view, n)
	for i, b := range d.take(n) {
		out[i] = view(b)
		d.require(out[i] < numViews, "a view")
	}
	return out
}

func (d *decoder) ints(n int) []int32 {
	in, out := d.take(4*n), make([]int32, n)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(in[4*i:]))
	}
	return out
}

// starts reads where the rows begin: one after the other, from 0 to the end.
func (d *decoder) starts(rows, entries int) []int32 {
	out := d.ints(rows + 1)
	d.require(out[0] == 0 && int(out[rows]) == entries, "a row")
	for i := range rows {
		d.require(out[i] <= out[i+1], "a row")
	}
	return out
}

func (d *decoder) ids(entries, features int) []int32 {
	out := d.ints(entries)
	for _, id := range out {
		d.require(id >= 0 && int(id) < features, "an example")
	}
	return out
}
