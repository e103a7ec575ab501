package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"intenthint/knowhub/index/terms"
)

const (
	// maxTerms bounds the terms of a question that are looked up: the most
	// valuable ones.
	maxTerms = 40
	// maxPostings bounds the postings read for a question. Beyond it terms are
	// left out, the most common first.
	maxPostings = 120_000
	// unknownShare is the weight of a word that no experience contains:
	// experiences may use another word for it.
	unknownShare = 0.4
	// coverage is the share of the score that depends on how many of the words an
	// experience contains.
	coverage = 0.4
)

// listed is a term in the index.
type listed struct {
	id     int64
	rows   int
	blocks []block // nil if they were not read
}

// query runs a statement in the lookup's snapshot of the file, without the caller's
// context: to watch that costs two goroutines, and each statement is short.
func (l *lookup) query(s *sql.Stmt, args ...any) (*sql.Rows, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(l.ctx)
	return s.QueryContext(ctx, args...)
}

// list returns a JSON list of numbers.
func list(ids []int64) string {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// find looks up the terms of words.
func (l *lookup) find(words []terms.Word) error {
	var names []string
	l.known = make(map[string]listed)
	for _, w := range words {
		for _, t := range w.Terms {
			if k, ok := get(l.cache, l.cache.terms, t.Text); !ok {
				names = append(names, t.Text)
			} else if k.rows > 0 {
				l.known[t.Text] = k
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	asked, err := json.Marshal(names)
	if err != nil {
		return err
	}
	rows, err := l.query(l.findTerms, string(asked))
	if err != nil {
		return err
	}
	if err := readTerms(rows, l.known); err != nil {
		return err
	}
	for _, name := range names {
		put(l.cache, l.cache.terms, name, l.known[name], 0)
	}
	return nil
}

// readTerms keeps terms by their names.
func readTerms(rows *sql.Rows, known map[string]listed) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var t listed
		if err := rows.Scan(&name, &t.id, &t.rows); err != nil {
			return err
		}
		known[name] = t
	}
	return rows.Err()
}

// idf returns the inverse document frequency of a term that occurs in the given
// number of rows.
func (l *lookup) idf(rows int) float64 {
	n := float64(max(l.rows, rows))
	return math.Log(1 + (n-float64(rows)+0.5)/(float64(rows)+0.5))
}

// used is a term of a word that is looked up.
type used struct {
	listed
	name  string
	word  int
	value float32 // what an impact of 1 adds to a score
}

// value returns the weight of a word: that of its first term, or a share of the
// weight of a word that does not occur.
func (l *lookup) value(w terms.Word) float64 {
	if t, ok := l.known[w.Terms[0].Text]; ok {
		return float64(w.Weight) * l.idf(t.rows)
	}
	return float64(w.Weight) * l.idf(0) * unknownShare
}

// choose returns the terms to look up, in the order of their words.
func (l *lookup) choose(words []terms.Word) []used {
	var all []used
	for i, w := range words {
		limit := math.Inf(1)
		if t, ok := l.known[w.Terms[0].Text]; ok {
			limit = l.idf(t.rows)
		}
		for _, t := range w.Terms {
			if k, ok := l.known[t.Text]; ok {
				all = append(all, used{k, t.Text, i, w.Weight * t.Weight * float32(min(limit, l.idf(k.rows)))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b used) int { return cmp.Compare(b.value, a.value) })
	left := maxPostings
	chosen := all[:0]
	for i, u := range all {
		if i > 0 && (u.rows > left || len(chosen) == maxTerms) {
			continue
		}
		left -= u.rows
		chosen = append(chosen, u)
	}
	slices.SortStableFunc(chosen, func(a, b used) int { return cmp.Compare(a.word, b.word) })
	return chosen
}

// block is the postings of a term in a block of rows.
type block struct {
	first int // row
	list  []posting
}

// postings reads the postings of the terms that were not read before.
func (l *lookup) postings(chosen []used) error {
	var ids []int64
	for _, u := range chosen {
		if u.blocks == nil && !slices.Contains(ids, u.id) {
			ids = append(ids, u.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := l.query(l.findPostings, list(ids))
	if err != nil {
		return err
	}
	blocks, err := readBlocks(rows)
	if err != nil {
		return err
	}
	for i, u := range chosen {
		if u.blocks == nil {
			u.blocks = blocks[u.id]
			chosen[i], l.known[u.name] = u, u.listed
			put(l.cache, l.cache.terms, u.name, u.listed, u.rows*int(unsafe.Sizeof(posting{})))
		}
	}
	return nil
}

// readBlocks returns postings by the ids of their terms.
func readBlocks(rows *sql.Rows) (map[int64][]block, error) {
	defer func() { _ = rows.Close() }()
	blocks := make(map[int64][]block)
	for rows.Next() {
		var at int64
		var blob sql.RawBytes
		if err := rows.Scan(&at, &blob); err != nil {
			return nil, err
		}
		list, err := readPostings(make([]posting, 0, len(blob)/2), blob) // most have two bytes
		if err != nil {
			return nil, err
		}
		first := int(at&(1<<blocksBits-1)) << blockBits
		blocks[at>>blocksBits] = append(blocks[at>>blocksBits], block{first, list})
	}
	return blocks, rows.Err()
}

// scored is a row with its text score.
type scored struct {
	row    int32
	score  float32
	shared int32 // see cell
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

// add gives the current word the postings of a term, of rows that are allowed.
func (s *sheet) add(b block, value float32, allowed []uint64) {
	value *= maxImpact / 255
	for _, p := range b.list {
		row := b.first + int(p.row)
		if row>>6 >= len(allowed) {
			break
		}
		if allowed[row>>6]&(1<<(row&63)) == 0 {
			continue
		}
		c := &s.cells[row]
		if c.word == 0 {
			s.current = append(s.current, int32(row)) //nolint:gosec // below 2^31
		}
		c.word = max(c.word, value*float32(p.impact))
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

// best returns the best n rows, best first. whole is the total weight of the words.
func (s *sheet) best(n int, whole float64) []scored {
	order := func(a, b scored) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return cmp.Compare(a.row, b.row)
	}
	kept := make([]scored, 0, 2*n)
	var least float32
	for _, row := range s.touched {
		c := s.cells[row]
		score := c.total * (1 - coverage + coverage*c.covered/float32(whole))
		if score < least {
			continue
		}
		if kept = append(kept, scored{row, score, c.shared}); len(kept) == 2*n {
			slices.SortFunc(kept, order)
			kept = kept[:n]
			least = kept[n-1].score
		}
	}
	slices.SortFunc(kept, order)
	return kept[:min(n, len(kept))]
}

// best returns the n rows of a set that contain most of the words, best first, and
// the total weight of the words.
func (l *lookup) best(words []terms.Word, allowed []uint64, n int) ([]scored, float64, error) {
	chosen := l.choose(words)
	if len(chosen) == 0 {
		return nil, 0, nil
	}
	if err := l.postings(chosen); err != nil {
		return nil, 0, err
	}
	var whole float64
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
	s.grow(len(allowed) * 64)
	defer s.clear()
	for i, u := range chosen {
		for _, b := range u.blocks {
			s.add(b, u.value, allowed)
		}
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
	return s.best(n, whole), whole, nil
}

// allowed returns the rows that are in all sets, one bit each.
func (l *lookup) allowed(sets []string) ([]uint64, error) {
	var all []uint64
	for i, name := range sets {
		bits, err := l.set(name)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all = bits
			continue
		}
		both := make([]uint64, len(all))
		for j := range all {
			both[j] = all[j] & bits[j]
		}
		all = both
	}
	return all, nil
}

// set returns the rows that are in a set, one bit each.
func (l *lookup) set(name string) ([]uint64, error) {
	if bits, ok := get(l.cache, l.cache.sets, name); ok {
		return bits, nil
	}
	bits := make([]uint64, l.rows>>6+1)
	rows, err := l.query(l.findSet, name)
	if err != nil {
		return nil, err
	}
	if err := readSet(rows, bits); err != nil {
		return nil, err
	}
	put(l.cache, l.cache.sets, name, bits, 8*len(bits))
	return bits, nil
}

func readSet(rows *sql.Rows, bits []uint64) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var block int
		var data []byte
		if err := rows.Scan(&block, &data); err != nil {
			return err
		}
		base := block << blockBits >> 6
		for i, b := range data {
			if w := base + i>>3; w < len(bits) {
				bits[w] |= uint64(b) << (i & 7 * 8)
			}
		}
	}
	return rows.Err()
}
