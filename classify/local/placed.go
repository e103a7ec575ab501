package local

import (
	"encoding/binary"
	"math"
)

// Vectors are vectors of texts that are read where they lie (package vectors).
type Vectors interface {
	// Place returns the position of the vector of a text, -1 without one.
	Place(text string) int
	// Numbers returns the vectors one behind the other: the scale of each as float32,
	// little endian, and its numbers over the scale as int8.
	Numbers() []byte
	// Sum returns a checksum of the texts and their order.
	Sum() uint32
}

// placed are the vectors of rows, each rounded to 8 bits. They stand for the vectors less
// a mean, scaled to length 1.
type placed struct {
	numbers []byte // as those of [Vectors]
	size    int    // how many numbers a vector has
	places  u24s   // by row: the position of its vector, plus one; 0 without one
	inverse f32s   // by position: 1 over the length of the vector less the mean
}

// add adds the vector of the next row, nil without one.
func (p *placed) add(v, mean []float32) {
	if v == nil {
		p.places = p.places.add(0)
		return
	}
	at := len(p.numbers)
	p.numbers = append(p.numbers, 0, 0, 0, 0)
	var scale float32
	p.numbers, scale = appendInt8(p.numbers, v)
	binary.LittleEndian.PutUint32(p.numbers[at:], math.Float32bits(scale))
	p.places = p.places.add(uint32(at/p.bytes()) + 1)
	p.measure(at/p.bytes(), mean)
}

func (p *placed) bytes() int { return 4 + p.size }

// measure adds the inverse length of the vector at a position.
func (p *placed) measure(at int, mean []float32) {
	scale, numbers := p.at(at)
	sum := float32(0)
	for i, m := range mean {
		x := scale*float32(int8(numbers[i])) - m
		sum += x * x
	}
	if sum <= leastLength {
		p.inverse = p.inverse.add(0)
		return
	}
	p.inverse = p.inverse.add(1 / sqrt32(sum))
}

// leastLength is the squared length below which a vector less the mean is nothing.
const leastLength = 1e-12

// at returns the scale and the numbers of the vector at a position.
func (p *placed) at(i int) (scale float32, numbers []byte) {
	entry := p.numbers[i*p.bytes():][:p.bytes()]
	return math.Float32frombits(binary.LittleEndian.Uint32(entry)), entry[4:]
}

func (p *placed) has(row int) bool { return p.places.at(row) != 0 }

// cosine returns the cosine of a row, 0 without a vector, and of what q asks for.
func (p *placed) cosine(row int, q *query) float32 {
	i := int(p.places.at(row)) - 1
	if i < 0 {
		return 0
	}
	scale, numbers := p.at(i)
	return (scale*q.scale*float32(productInt8(numbers, q.numbers)) - q.mean) * p.inverse.at(i)
}

// query is a vector less the mean, of length 1, in the form that is compared with
// placed vectors.
type query struct {
	numbers []int16 // over scale
	scale   float32
	mean    float32 // its product with the mean
}

func newQuery(vector, mean []float32) *query {
	q, most := &query{numbers: make([]int16, len(vector)), mean: product(vector, mean)}, float32(0)
	for _, x := range vector {
		most = max(most, x, -x)
	}
	if most == 0 {
		return q
	}
	q.scale = most / math.MaxInt16
	for i, x := range vector {
		q.numbers[i] = int16(math.Round(float64(x / q.scale)))
	}
	return q
}

// productPlain is [productInt8] without vector instructions.
func productPlain(a []byte, b []int16) int {
	b = b[:len(a)]
	var s0, s1, s2, s3 int
	for len(a) >= 4 && len(b) >= 4 {
		s0 += int(int8(a[0])) * int(b[0])
		s1 += int(int8(a[1])) * int(b[1])
		s2 += int(int8(a[2])) * int(b[2])
		s3 += int(int8(a[3])) * int(b[3])
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += int(int8(a[i])) * int(b[i])
	}
	return s0 + s1 + s2 + s3
}
