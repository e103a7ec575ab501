package local

import (
	"cmp"
	"slices"

	"intenthint/intents"
	"intenthint/internal/text"
)

// examples are the training rows in the form that the nearest-example search
// reads: for each feature of the views that are compared, the rows that have it.
type examples struct {
	firstRow []int32 // by class; one more at the end: the rows of a class stand together
	starts   []int32 // by feature; one more at the end
	rows     []rowValue
	reasons  []string // by row
	trigger  []bool   // by row
	texts    []string
}

// rowValue is the value of a feature in a row, of which the compared features have
// length 1.
type rowValue struct {
	row   int32
	value float32
}

func newExamples(samples []sample, classes int, sp *space, rows *corpus) examples {
	e := examples{
		starts:   make([]int32, sp.dict.n+1),
		firstRow: make([]int32, classes+1),
		reasons:  make([]string, len(samples)), trigger: make([]bool, len(samples)), texts: make([]string, len(samples)),
	}
	for i, s := range samples {
		if s.class >= 0 {
			e.firstRow[s.class+1] = int32(i + 1)
		}
		kind := kindExample
		if s.trigger {
			kind = kindTrigger
		}
		e.texts[i], e.trigger[i] = text.OneLine(s.text, maxQuote), s.trigger
		if e.reasons[i] = closeTo + kind + " “" + e.texts[i] + "”"; s.learnt {
			e.reasons[i] = closeToLearnt // somebody else may have written it (contract §3)
		}
	}
	for c := range classes {
		e.firstRow[c+1] = max(e.firstRow[c+1], e.firstRow[c])
	}
	compared := func(do func(row int32, id int32, value float32)) {
		for i := range rows.len() {
			ids, values := rows.row(i)
			sum := float32(0)
			for k, id := range ids {
				if sp.views[id].compared() {
					sum += values[k] * values[k]
				}
			}
			for k, id := range ids {
				if sp.views[id].compared() {
					do(int32(i), id, values[k]/sqrt32(sum))
				}
			}
		}
	}
	compared(func(_, id int32, _ float32) { e.starts[id+1]++ })
	for id := range sp.dict.n {
		e.starts[id+1] += e.starts[id]
	}
	e.rows = make([]rowValue, e.starts[sp.dict.n])
	next := slices.Clone(e.starts)
	compared(func(row, id int32, value float32) {
		e.rows[next[id]] = rowValue{row, value}
		next[id]++
	})
	return e
}

// having returns the rows from up to but not including to that have a feature.
func (e *examples) having(id, from, to int32) []rowValue {
	rows := e.rows[e.starts[id]:e.starts[id+1]]
	byRow := func(r rowValue, row int32) int { return cmp.Compare(r.row, row) }
	begin, _ := slices.BinarySearchFunc(rows, from, byRow)
	end, _ := slices.BinarySearchFunc(rows[begin:], to, byRow)
	return rows[begin:][:end]
}

// nearest finds the row of a class that is most like the message, among those
// that skip does not name, its cosine, and the worth of the message's words
// that the class uses.
func (m *Model) nearest(sc *scratch, class int, skip []bool) (row int, cosine, covered float32) {
	return m.nearestOf(sc, m.examples.firstRow[class], m.examples.firstRow[class+1], skip)
}

// Nearest returns the example or trigger of an intent, or the example of the
// fallback, that shares most with the message by words, and its cosine, 0 to 1;
// "" if none shares anything.
func (m *Model) Nearest(intent, message string) (example string, similarity float64) {
	from, to := m.examples.firstRow[len(m.intents)], int32(len(m.examples.texts)) // the fallback's
	if intent != intents.FallbackID {
		class := slices.IndexFunc(m.intents, func(in intents.Intent) bool { return in.ID == intent })
		if class < 0 {
			return "", 0
		}
		from, to = m.examples.firstRow[class], m.examples.firstRow[class+1]
	}
	sc := m.pool.Get().(*scratch)
	m.read(sc, message)
	row, cosine, _ := m.nearestOf(sc, from, to, nil)
	m.pool.Put(sc)
	if row < 0 || cosine <= 0 {
		return "", 0
	}
	return m.examples.texts[row], float64(cosine)
}

// nearestOf is nearest for the rows from up to but not including to.
func (m *Model) nearestOf(sc *scratch, from, to int32, skip []bool) (row int, cosine, covered float32) {
	e := &m.examples
	norm, known := float32(0), float32(0)
	sc.sums = slices.Grow(sc.sums[:0], int(to-from))[:to-from]
	clear(sc.sums)
	for k, id := range sc.ids {
		v := sc.views[k]
		if !v.compared() {
			continue
		}
		worth := sc.worth[k]
		norm += sc.values[k] * sc.values[k]
		known += worth * worth
		used := false
		for _, r := range e.having(id, from, to) {
			if skip == nil || !skip[r.row] {
				sc.sums[r.row-from] += sc.values[k] * r.value
				used = true
			}
		}
		if used && v == viewWord {
			covered += worth
		}
	}
	if norm == 0 {
		return -1, 0, 0
	}
	if known > 0 {
		norm *= 1 + sc.strange/known
	}
	row = -1
	for i, sum := range sc.sums {
		if at := int(from) + i; (skip == nil || !skip[at]) && (row < 0 || sum > cosine) {
			row, cosine = at, sum
		}
	}
	return row, cosine / sqrt32(norm), covered
}
