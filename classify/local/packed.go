package local

import (
	"encoding/binary"
	"math"
)

// A trained model is a few arrays of bytes, little endian, which are read where they
// lie: in the binary for the built-in intents, else in memory. So both have one form.
type (
	u16s []byte
	u24s []byte
	u32s []byte
	f32s []byte
)

func (b u16s) at(i int) int { return int(binary.LittleEndian.Uint16(b[2*i:])) }
func (b u24s) at(i int) uint32 {
	b = b[3*i:][:3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
}
func (b u32s) at(i int) int     { return int(binary.LittleEndian.Uint32(b[4*i:])) }
func (b f32s) at(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }

func (b u16s) add(x int) u16s     { return binary.LittleEndian.AppendUint16(b, uint16(x)) }
func (b u24s) add(x uint32) u24s  { return append(b, byte(x), byte(x>>8), byte(x>>16)) }
func (b u32s) add(x int) u32s     { return binary.LittleEndian.AppendUint32(b, uint32(x)) }
func (b f32s) add(x float32) f32s { return binary.LittleEndian.AppendUint32(b, math.Float32bits(x)) }

func (b u32s) len() int { return len(b) / 4 }
func (b f32s) len() int { return len(b) / 4 }

// floats returns numbers in their packed form.
func floats(numbers []float32) (out f32s) {
	for _, x := range numbers {
		out = out.add(x)
	}
	return out
}

// all returns the numbers.
func (b f32s) all() []float32 {
	out := make([]float32, b.len())
	for i := range out {
		out[i] = b.at(i)
	}
	return out
}

// largest is the largest number of a quantised row: it has 8 bits, with a sign.
const largest = 127

// appendInt8 appends a row, and returns the number that its bytes are to be multiplied
// by.
func appendInt8(out []byte, row []float32) ([]byte, float32) {
	most := float32(0)
	for _, x := range row {
		most = max(most, x, -x)
	}
	if most == 0 {
		return append(out, make([]byte, len(row))...), 0
	}
	for _, x := range row {
		out = append(out, byte(int8(math.Round(float64(x/most*largest)))))
	}
	return out, most / largest
}

// axpyInt8 adds v times the quantised x to y.
func axpyInt8(y []float32, x []byte, v float32) {
	x = x[:len(y)]
	for len(y) >= 4 && len(x) >= 4 {
		y[0] += v * float32(int8(x[0]))
		y[1] += v * float32(int8(x[1]))
		y[2] += v * float32(int8(x[2]))
		y[3] += v * float32(int8(x[3]))
		y, x = y[4:], x[4:]
	}
	for i := range y {
		y[i] += v * float32(int8(x[i]))
	}
}

// deltas appends rows, which ascend, as differences from the one before, the first from
// from.
func deltas(out []byte, rows []int32, from int32) []byte {
	for _, row := range rows {
		out = binary.AppendUvarint(out, uint64(row-from))
		from = row
	}
	return out
}

// next takes the first number of a list of bytes.
func next(list []byte) (n int, rest []byte) {
	if b := list[0]; b < 0x80 {
		return int(b), list[1:]
	}
	x, size := binary.Uvarint(list)
	return int(x), list[size:]
}

// pack puts sections one behind the other, each with its length in front.
func pack(sections ...[]byte) []byte {
	var out []byte
	for _, s := range sections {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(s))), s...)
	}
	return out
}

// unpack sets the sections to the parts of data, which pack has made. It reports
// whether there were as many.
func unpack(data []byte, sections ...*[]byte) bool {
	for _, s := range sections {
		if len(data) < 4 {
			return false
		}
		n := uint64(binary.LittleEndian.Uint32(data))
		if data = data[4:]; n > uint64(len(data)) {
			return false
		}
		*s, data = data[:n:n], data[n:]
	}
	return len(data) == 0
}
