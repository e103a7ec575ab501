package local

import (
	"slices"

	"intenthint/intents"
	"intenthint/internal/text"
)

// nearest finds the row of a class, or the fallback's as the last class, that is most
// like the message, among those that skip does not name, its cosine, and the worth of
// the message's words that the class uses.
func (m *Model) nearest(sc *scratch, class int, skip []bool) (row int, cosine, covered float32) {
	p := &m.postings
	from, to := p.firstRow[class], p.firstRow[class+1]
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
		sc.rows = p.of(id, class, sc.rows[:0])
		for _, r := range sc.rows {
			if skip == nil || !skip[r] {
				sc.sums[r-from] += sc.values[k] * p.value(r, v, worth)
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
		if at := int(from) + i; (skip == nil || !skip[at]) && (row < 0 || sum > 0) {
			if sum *= p.scales.at(at*numScales + scaleToOne); row < 0 || sum > cosine {
				row, cosine = at, sum
			}
		}
	}
	return row, cosine / sqrt32(norm), covered
}

// Nearest returns the example or trigger of an intent, or the example of the
// fallback, that shares most with the message by words, and its cosine, 0 to 1;
// "" if none shares anything.
func (m *Model) Nearest(intent, message string) (example string, similarity float64) {
	class := len(m.intents) // the fallback's
	if intent != intents.FallbackID {
		class = slices.IndexFunc(m.intents, func(in intents.Intent) bool { return in.ID == intent })
		if class < 0 {
			return "", 0
		}
	}
	sc := m.pool.Get().(*scratch)
	m.read(sc, message)
	row, cosine, _ := m.nearest(sc, class, nil)
	m.pool.Put(sc)
	if row < 0 || cosine <= 0 {
		return "", 0
	}
	return m.textOf(row), float64(cosine)
}

// textOf returns the text of a row on one line.
func (m *Model) textOf(row int) string { return text.OneLine(m.samples[row].text, maxQuote) }
