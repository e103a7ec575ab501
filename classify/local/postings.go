package local

import (
	"iter"
	"slices"
)

// postings says which training texts, by row, have a feature, and with what value there.
// Of a feature of many texts that is only for the views that are compared.
type postings struct {
	firstRow []int32 // by class, the fallback's is the last; one more at the end: the rows of a class stand together
	class    []int32 // by row: its position in firstRow
	common   u32s    // by feature of many texts: where its list begins; one more at the end
	rare     u32s    // by group of rareGroup features: where their lists begin
	single   u24s    // by feature of one text: its row
	// lists are of rows as differences. Of a common feature: for each class that has it
	// the class, the length, and the rows from its first one on; of a rare one: the
	// length and the rows.
	lists []byte
	// scales are what the worth of a feature is multiplied by, by row and view; and the
	// inverse of the length of the compared part of the row.
	scales           f32s
	nCommon, nShared int
}

const (
	rareGroup  = 8                 // features; more take less memory and longer to find
	numScales  = int(numViews) + 1 // of a row
	scaleToOne = int(numViews)     // which makes the compared part of a row as long as 1
)

// newPostings returns the postings of a space, given the first row of each class.
func newPostings(s *space, firstRow []int32) postings {
	p := postings{firstRow: firstRow, class: classes(firstRow), nCommon: s.nCommon, nShared: s.nShared}
	for _, x := range s.scales {
		p.scales = p.scales.add(x)
	}
	for id, rows := range s.rows.having(s.n) {
		switch {
		case id >= s.nShared:
			p.single = p.single.add(uint32(rows[0]))
		case id >= s.nCommon:
			if (id-s.nCommon)%rareGroup == 0 {
				p.rare = p.rare.add(len(p.lists))
			}
			list := deltas(nil, rows, 0)
			p.lists = append(append(p.lists, byte(len(list))), list...)
		default:
			p.common = p.common.add(len(p.lists))
			if s.views[id].compared() {
				p.appendByClass(rows)
			}
		}
		if id+1 == s.nCommon {
			p.common = p.common.add(len(p.lists))
		}
	}
	return p
}

// having yields the rows that have each of n features.
func (c *corpus) having(n int) iter.Seq2[int, []int32] {
	ends := make([]int32, n+1) // by feature plus one
	for _, id := range c.ids {
		ends[id+1]++
	}
	for id := range n {
		ends[id+1] += ends[id]
	}
	rows, at := make([]int32, len(c.ids)), slices.Clone(ends)
	for i := range c.len() {
		ids, _ := c.row(i)
		for _, id := range ids {
			rows[at[id]] = int32(i)
			at[id]++
		}
	}
	return func(yield func(int, []int32) bool) {
		for id := range n {
			if !yield(id, rows[ends[id]:ends[id+1]]) {
				return
			}
		}
	}
}

// firstRows returns the first row of each class and of the fallback, and the number of rows.
func firstRows(samples []sample, classes int) []int32 {
	out := make([]int32, classes+2)
	for i := range samples {
		if c := samples[i].class; c >= 0 {
			out[c+1] = int32(i + 1)
		}
	}
	for c := range classes {
		out[c+1] = max(out[c+1], out[c])
	}
	out[classes+1] = int32(len(samples))
	return out
}

// classes returns the class of each row, as its position in firstRow.
func classes(firstRow []int32) []int32 {
	out := make([]int32, firstRow[len(firstRow)-1])
	for c := range len(firstRow) - 1 {
		for i := firstRow[c]; i < firstRow[c+1]; i++ {
			out[i] = int32(c)
		}
	}
	return out
}

func (p *postings) appendByClass(rows []int32) {
	for len(rows) > 0 {
		class := p.class[rows[0]]
		n, _ := slices.BinarySearch(rows, p.firstRow[class+1])
		list := deltas(nil, rows[:n], p.firstRow[class])
		p.lists = append(deltas(p.lists, []int32{class}, 0), deltas(nil, []int32{int32(len(list))}, 0)...)
		p.lists, rows = append(p.lists, list...), rows[n:]
	}
}

// few returns the rows that have a feature of few texts.
func (p *postings) few(id int32, memory *[maxRare]int32) []int32 {
	if int(id) >= p.nShared {
		memory[0] = int32(p.single.at(int(id) - p.nShared))
		return memory[:1]
	}
	k := int(id) - p.nCommon
	list := p.lists[p.rare.at(k/rareGroup):]
	for range k % rareGroup {
		list = list[1+int(list[0]):]
	}
	return undelta(memory[:0], list[1:][:list[0]], 0)
}

// undelta appends the rows of a list.
func undelta(out []int32, list []byte, from int32) []int32 {
	var d int
	for len(list) > 0 {
		d, list = next(list)
		from += int32(d)
		out = append(out, from)
	}
	return out
}

// of returns the rows of a class that have a compared feature.
func (p *postings) of(id int32, class int, memory []int32) []int32 {
	if int(id) >= p.nCommon {
		var few [maxRare]int32
		for _, row := range p.few(id, &few) {
			if int(p.class[row]) == class {
				memory = append(memory, row)
			}
		}
		return memory
	}
	list := p.lists[p.common.at(int(id)):p.common.at(int(id)+1)]
	var at, size int
	for len(list) > 0 && at <= class {
		at, list = next(list)
		if size, list = next(list); at == class {
			return undelta(memory, list[:size], p.firstRow[class])
		}
		list = list[size:]
	}
	return memory
}

// value returns the value of a feature of the given worth in a row.
func (p *postings) value(row int32, v view, worth float32) float32 {
	return worth * p.scales.at(int(row)*numScales+int(v))
}
