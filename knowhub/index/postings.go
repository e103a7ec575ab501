package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

const (
	// blockBits is the number of rows in one blob of postings, as a power of 2.
	// Smaller blocks are faster to write, larger ones faster to read.
	blockBits = 13
	blockRows = 1 << blockBits
	// maxBlocks bounds the blocks of a term, and so the rows: 2^32.
	blocksBits = 20
)

// posting is a row that contains a term: its position in the block, and the
// weight of the term in it.
type posting struct {
	row    uint16
	impact byte
}

// at returns the key of the postings of a term in a block.
func at(term, block int64) int64 { return term<<blocksBits | block }

// appendPostings writes postings in the order of rows: the distance to the one
// before as a uvarint, the impact as a byte.
func appendPostings(dst []byte, list []posting) []byte {
	before := -1
	for _, p := range list {
		dst = binary.AppendUvarint(dst, uint64(int(p.row)-before)) //nolint:gosec // rows ascend
		dst = append(dst, p.impact)
		before = int(p.row)
	}
	return dst
}

// readPostings appends the postings of a blob to a list.
func readPostings(list []posting, blob []byte) ([]posting, error) {
	row := -1
	for i := 0; i < len(blob); {
		step, n := uint64(blob[i]), 1
		if step >= 0x80 {
			step, n = binary.Uvarint(blob[i:])
		}
		if n <= 0 || step == 0 || step > blockRows || i+n >= len(blob) {
			return nil, fmt.Errorf("%w: postings", ErrDamaged)
		}
		if row += int(step); row >= blockRows {
			return nil, fmt.Errorf("%w: postings", ErrDamaged)
		}
		list = append(list, posting{uint16(row), blob[i+n]})
		i += n + 1
	}
	return list, nil
}

// merge returns a list with changes applied, in the order of rows. An impact of
// 0 removes a row.
func merge(list, changes []posting) []posting {
	out := make([]posting, 0, len(list)+len(changes))
	i := 0
	for _, c := range changes {
		for i < len(list) && list[i].row < c.row {
			out = append(out, list[i])
			i++
		}
		if i < len(list) && list[i].row == c.row {
			i++
		}
		if c.impact > 0 {
			out = append(out, c)
		}
	}
	return append(out, list[i:]...)
}

// The impact of a term on an experience follows BM25: it grows, ever more
// slowly, with the frequency of the term, and shrinks with the length of the
// text.
const (
	saturation = 1.2 // k1
	lengthNorm = 0.5 // b
	// usualLength is the length of an experience in terms. It is a constant, so
	// that the stored impact does not depend on other experiences.
	usualLength = 50
	// maxImpact is the value of an impact byte of 255; BM25 stays below it.
	maxImpact = saturation + 1
)

// The weight of a term in each text: questions are mostly about the task.
const (
	taskWeight     = 2.0
	resourceWeight = 1.5
	resultWeight   = 1.0
)

// impact returns 1–255.
func impact(frequency, length float64) byte {
	v := frequency * (saturation + 1) / (frequency + saturation*(1-lengthNorm+lengthNorm*length/usualLength))
	return byte(max(1, min(255, math.Round(v/maxImpact*255))))
}

// A set holds the rows that have a status or an agent, one bit each.

func setBit(bits []byte, row int, on bool) []byte {
	if need := row/8 + 1; on && len(bits) < need {
		bits = append(bits, make([]byte, need-len(bits))...)
	}
	if row/8 < len(bits) {
		if on {
			bits[row/8] |= 1 << (row % 8)
		} else {
			bits[row/8] &^= 1 << (row % 8)
		}
	}
	return bits
}

func isEmpty(bits []byte) bool {
	return !slices.ContainsFunc(bits, func(b byte) bool { return b != 0 })
}
