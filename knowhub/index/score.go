package index

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"unique"

	"intenthint/knowhub/index/terms"
)

const (
	// maxTerms bounds the terms of a question that are looked up: the most
	// valuable ones.
	maxTerms = 40
	// maxPostings bounds the postings looked at for a question. Beyond it terms are
	// left out, the most common first.
	maxPostings = 120_000
	// unknownShare is the weight of a word that no experience contains:
	// experiences may use another word for it.
	unknownShare = 0.4
	// coverage is the share of the score that depends on how many of the words an
	// experience contains.
	coverage = 0.4
)

// lookup is a search. The lock of the index is held for reading.
type lookup struct {
	*Index
	known map[string]*term // the terms of the words that occur
	only  filter
}

// filter says which rows a search may find.
type filter struct {
	approved bool
	owned    bool // only those of the agent
	agent    unique.Handle[string]
}

func (f filter) admits(r row) bool {
	return (r.approved || !f.approved) && (!f.owned || r.agent == f.agent)
}

// lookUp looks up the terms of words.
func (x *Index) lookUp(words []terms.Word, only filter) *lookup {
	l := &lookup{Index: x, known: make(map[string]*term), only: only}
	for _, w := range words {
		for _, t := range w.Terms {
			if known, ok := x.terms[t.Text]; ok {
				l.known[t.Text] = known
			}
		}
	}
	return l
}

// idf returns the inverse document frequency of a term that occurs in the given
// number of rows.
func (l *lookup) idf(rows int) float64 {
	n := float64(l.size())
	return math.Log(1 + (n-float64(rows)+0.5)/(float64(rows)+0.5))
}

// used is a term of a word that is looked up.
type used struct {
	*term
	word  int
	value float32 // what an impact of 1 adds to a score
}

// value returns the weight of a word: that of its first term, or a share of the
// weight of a word that does not occur.
func (l *lookup) value(w terms.Word) float64 {
	if t, ok := l.known[w.Terms[0].Text]; ok {
		return float64(w.Weight) * l.idf(len(t.postings))
	}
	return float64(w.Weight) * l.idf(0) * unknownShare
}

// choose returns the terms to look up, in the order of their words.
func (l *lookup) choose(words []terms.Word) []used {
	var all []used
	for i, w := range words {
		limit := math.Inf(1)
		if t, ok := l.known[w.Terms[0].Text]; ok {
			limit = l.idf(len(t.postings))
		}
		for _, t := range w.Terms {
			if k, ok := l.known[t.Text]; ok {
				all = append(all, used{k, i, w.Weight * t.Weight * float32(min(limit, l.idf(len(k.postings))))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b used) int { return cmp.Compare(b.value, a.value) })
	left := maxPostings
	chosen := all[:0]
	for i, u := range all {
		if i > 0 && (len(u.postings) > left || len(chosen) == maxTerms) {
			continue
		}
		left -= len(u.postings)
		chosen = append(chosen, u)
	}
	slices.SortStableFunc(chosen, func(a, b used) int { return cmp.Compare(a.word, b.word) })
	return chosen
}

// scored is an experience with its text score.
type scored struct {
	*entry
	row    int32
	score  float32
	shared int32   // see cell
	cosine float64 // of its meaning and that of the question, 0 if unknown
	words  float64 // the score by words alone, 0–1; see lookup.best
	rank   float64 // the score with its bonuses
}

// cell is the score of a row.
type cell struct {
	total   float32
	covered float32
	word    float32 // of the current word
	shared  int32   // words that may name a subject, and that the row contains
}

// sheet accumulates scores, a cell for each row.
type sheet struct {
	cells   []cell
	touched []int32 // rows with a total
	current []int32 // rows with a score for the current word
}

var sheets = sync.Pool{New: func() any { return new(sheet) }}

func (s *sheet) grow(rows int) {
	if len(s.cells) < rows {
		s.cells = make([]cell, rows)
	}
}

// add gives the current word the postings of a term.
func (s *sheet) add(u used) {
	value := u.value * maxImpact / 255
	for _, p := range u.postings {
		row := p.row()
		c := &s.cells[row]
		if c.word == 0 {
			s.current = append(s.current, int32(row)) //nolint:gosec // below 2^24
		}
		c.word = max(c.word, value*float32(p.impact()))
	}
}

// close adds the scores of a word to the totals. subject is 1 for one that may name a
// subject, and otherwise 0.
func (s *sheet) close(value float32, subject int32) {
	for _, row := range s.current {
		c := &s.cells[row]
		if c.total == 0 {
			s.touched = append(s.touched, row)
		}
		c.total += c.word
		c.covered += min(value, c.word)
		c.shared += subject
		c.word = 0
	}
	s.current = s.current[:0]
}

func (s *sheet) clear() {
	for _, rows := range [][]int32{s.current, s.touched} {
		for _, row := range rows {
			s.cells[row] = cell{}
		}
	}
	s.current, s.touched = s.current[:0], s.touched[:0]
}

// best returns the best n rows that a search may find, best first. whole is the total
// weight of the words.
func (s *sheet) best(l *lookup, n int, whole float64) []scored {
	best := top[scored]{most: n, order: byScore}
	for _, row := range s.touched {
		if !l.only.admits(l.rows[row]) {
			continue
		}
		c := s.cells[row]
		score := c.total * (1 - coverage + coverage*c.covered/float32(whole))
		best.add(scored{entry: l.rows[row].entry, row: row, score: score, shared: c.shared, words: float64(score) / whole})
	}
	return best.sorted()
}

// best returns the n rows that contain most of the words, best first, and the total
// weight of the words.
func (l *lookup) best(words []terms.Word, n int) (best []scored, whole float64) {
	chosen := l.choose(words)
	if len(chosen) == 0 {
		return nil, 0
	}
	for _, w := range words {
		if !w.Extra {
			whole += l.value(w)
		}
	}
	if whole == 0 {
		whole = 1
	}
	s := sheets.Get().(*sheet) //nolint:forcetypeassert // see sheets
	defer sheets.Put(s)
	s.grow(len(l.rows))
	defer s.clear()
	for i, u := range chosen {
		s.add(u)
		if i+1 == len(chosen) || chosen[i+1].word != u.word {
			w := words[u.word]
			var value float32
			if !w.Extra {
				value = float32(l.value(w))
			}
			var subject int32
			if w.Subject() {
				subject = 1
			}
			s.close(value, subject)
		}
	}
	return s.best(l, n, whole), whole
}
