package local

import (
	"slices"

	"intenthint/intents"
	"intenthint/internal/text"
)

// examples are the training rows in the form that the nearest-example search
// reads: the views that are compared, the rows of a class together.
type examples struct {
	firstRow []int32 // by class; one more at the end
	starts   []int32 // by row; one more at the end
	ids      []int32
	values   []float32
	reasons  []string // by row
	trigger  []bool   // by row
	texts    []string
}

func newExamples(samples []sample, classes int, sp *space, rows *corpus) examples {
	e := examples{
		starts:   make([]int32, 1, len(samples)+1),
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
		e.reasons[i] = closeTo + kind + " “" + e.texts[i] + "”"
	}
	for c := range classes {
		e.firstRow[c+1] = max(e.firstRow[c+1], e.firstRow[c])
	}
	for i := range rows.len() {
		ids, values := rows.row(i)
		from, sum := len(e.values), float32(0)
		for k, id := range ids {
			if sp.views[id].compared() {
				e.ids, e.values = append(e.ids, id), append(e.values, values[k])
				sum += values[k] * values[k]
			}
		}
		if sum > 0 {
			for k := from; k < len(e.values); k++ {
				e.values[k] /= sqrt32(sum)
			}
		}
		e.starts = append(e.starts, int32(len(e.ids)))
	}
	return e
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
	m.release(sc)
	if row < 0 || cosine <= 0 {
		return "", 0
	}
	return m.examples.texts[row], float64(cosine)
}

// nearestOf is nearest for the rows from up to but not including to.
func (m *Model) nearestOf(sc *scratch, from, to int32, skip []bool) (row int, cosine, covered float32) {
	e := &m.examples
	row = -1
	norm, known := float32(0), float32(0)
	for k, id := range sc.ids {
		if m.space.views[id].compared() {
			norm += sc.values[k] * sc.values[k]
			known += m.space.worth[id] * m.space.worth[id]
		}
	}
	if known > 0 {
		norm *= 1 + sc.strange/known
	}
	if norm == 0 {
		return row, 0, 0
	}
	norm = 1 / sqrt32(norm)
	sc.covered = sc.covered[:0]
	for i := from; i < to; i++ {
		if skip != nil && skip[i] {
			continue
		}
		sum := float32(0)
		for k := e.starts[i]; k < e.starts[i+1]; k++ {
			id := e.ids[k]
			v := sc.dense[id]
			if v == 0 {
				continue
			}
			if v > 0 {
				sc.dense[id] = -v
				sc.covered = append(sc.covered, id)
			} else {
				v = -v
			}
			sum += v * e.values[k]
		}
		if sum *= norm; row < 0 || sum > cosine {
			row, cosine = int(i), sum
		}
	}
	for _, id := range sc.covered {
		sc.dense[id] = -sc.dense[id]
		if m.space.views[id] == viewWord {
			covered += m.space.worth[id]
		}
	}
	return row, cosine, covered
}
