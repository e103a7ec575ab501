package index

import (
	"math"
	"slices"
	"strings"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index/terms"
)

// term is a word of the experiences: the rows that contain it, in their order.
type term struct{ postings []posting }

// posting is a row that contains a term, and the impact of the term on it in the lowest
// 8 bits. So there may be 16 million rows, which would need more than 16 GB of memory.
type posting uint32

const impactBits = 8 // of a posting: the impact of a term

func (p posting) row() int     { return int(p >> impactBits) }
func (p posting) impact() byte { return byte(p) } //nolint:gosec // the lowest bits

func (x *Index) setPosting(name string, row int, impact byte) {
	t := x.terms[name]
	if t == nil {
		t, name = &term{}, strings.Clone(name) // a part of a text would keep all of it
		x.terms[name] = t
		x.namesFor(name).add(name)
		if len(name) >= 2*leastPart && compoundable(name) {
			x.endings.add(reversed(name))
		}
	}
	p := posting(row<<impactBits) | posting(impact) //nolint:gosec // see posting
	i, found := len(t.postings), false
	if i > 0 && t.postings[i-1].row() >= row {
		i, found = t.find(row)
	}
	if found {
		t.postings[i] = p
		return
	}
	if n := len(t.postings); n == cap(t.postings) { // append would reserve a quarter or more
		t.postings = append(make([]posting, 0, n+n/8+1), t.postings...)
	}
	t.postings = slices.Insert(t.postings, i, p)
}

func (x *Index) dropPosting(name string, row int) {
	t := x.terms[name]
	if i, found := t.find(row); found {
		t.postings = slices.Delete(t.postings, i, i+1)
	}
	if len(t.postings) == 0 {
		delete(x.terms, name)
		x.namesFor(name).remove(name)
		if len(name) >= 2*leastPart && compoundable(name) {
			x.endings.remove(reversed(name))
		}
	}
}

func (t *term) find(row int) (at int, found bool) {
	return slices.BinarySearchFunc(t.postings, row, func(p posting, row int) int { return p.row() - row })
}

func (x *Index) namesFor(name string) *names {
	if hasDigit(name) {
		return &x.numbered
	}
	return &x.words
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// maxChunk is how many names a chunk may have: adding one moves at most 8 KiB.
const maxChunk = 512

// names are the names of terms in their order, in chunks, none of which is empty.
type names struct{ chunks [][]string }

// find returns where a name is, or would be.
func (n *names) find(name string) (chunk, at int) {
	chunk, _ = slices.BinarySearchFunc(n.chunks, name, func(c []string, name string) int { return strings.Compare(c[len(c)-1], name) })
	if chunk < len(n.chunks) {
		at, _ = slices.BinarySearch(n.chunks[chunk], name)
	}
	return chunk, at
}

// add adds a name that is not there.
func (n *names) add(name string) {
	i, at := n.find(name)
	switch last := len(n.chunks) - 1; {
	case last < 0:
		n.chunks = [][]string{{name}}
		return
	case i > last: // behind all others
		i, at = last, len(n.chunks[last])
	}
	c := slices.Insert(n.chunks[i], at, name)
	if n.chunks[i] = c; len(c) > maxChunk {
		half := len(c) / 2
		n.chunks[i] = slices.Clone(c[:half])
		n.chunks = slices.Insert(n.chunks, i+1, slices.Clone(c[half:]))
	}
}

// remove removes a name that is there.
func (n *names) remove(name string) {
	i, at := n.find(name)
	if n.chunks[i] = slices.Delete(n.chunks[i], at, at+1); len(n.chunks[i]) == 0 {
		n.chunks = slices.Delete(n.chunks, i, i+1)
	}
}

// beginning returns the first names, at most most, that begin with a prefix.
func (n *names) beginning(prefix string, most int) (found []string) {
	i, at := n.find(prefix)
	for ; i < len(n.chunks); i, at = i+1, 0 {
		for _, name := range n.chunks[i][at:] {
			if len(found) == most || !strings.HasPrefix(name, prefix) {
				return found
			}
			found = append(found, name)
		}
	}
	return found
}

// The impact of a term on an experience follows BM25: it grows, ever more slowly, with
// the frequency of the term, and shrinks with the length of the text.
const (
	saturation = 1.2 // k1
	lengthNorm = 0.5 // b
	// usualLength is the length of an experience in terms. It is a constant, so that an
	// impact does not depend on other experiences.
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

// impacts returns the impact of each term on an experience, none for nil.
func impacts(e *entry) map[string]byte {
	if e == nil {
		return nil
	}
	found, functions := frequencies(&e.Experience)
	var length float64
	for _, f := range found {
		length += f
	}
	all := make(map[string]byte, len(found)+len(functions))
	for _, terms := range []map[string]float64{found, functions} {
		for term, f := range terms {
			all[term] = impact(f, length)
		}
	}
	return all
}

// frequencies returns how often each term occurs in an experience, weighted by text, and
// apart from them those of function words.
func frequencies(e *experience.Experience) (found, functions map[string]float64) {
	found, functions = make(map[string]float64), make(map[string]float64)
	for _, part := range []struct {
		text   string
		weight float64
	}{{e.Task, taskWeight}, {e.Resource, resourceWeight}, {e.Result, resultWeight}} {
		terms.Each(part.text, func(term string, function bool) {
			if function {
				functions[term] += part.weight
			} else {
				found[term] += part.weight
			}
		})
	}
	return found, functions
}
