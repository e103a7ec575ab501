package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	id   int64
	rows int
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
			names = append(names, t.Text)
		}
	}
	slices.Sort(names)
	asked, err := json.Marshal(slices.Compact(names))
	if err != nil {
		return err
	}
	rows, err := l.query(l.findTerms, string(asked))
	if err != nil {
		return err
	}
	return readTerms(rows, l.known)
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
				all = append(all, used{k, i, w.Weight * t.Weight * float32(min(limit, l.idf(k.rows)))})
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

// blob is the postings of a term in a block.
type blob struct {
	block int
	rows  []byte
}

// readBlobs reads the postings of the terms that were not read before.
func (l *lookup) readBlobs(chosen []used) error {
	var ids []int64
	for _, u := range chosen {
		if _, ok := l.blobs[u.id]; !ok {
			ids = append(ids, u.id)
			l.blobs[u.id] = nil
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := l.query(l.findPostings, list(ids))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var at int64
		var data []byte
		if err := rows.Scan(&at, &data); err != nil {
			return err
		}
		l.blobs[at>>blocksBits] = append(l.blobs[at>>blocksBits], blob{int(at & (1<<blocksBits - 1)), data})
	}
	return rows.Err()
}

// scored is a row with its text score.
type scored struct {
	row   int32
	score float32
}

// cell is the score of a row.
type cell struct {
	total   float32
	covered float32
	word    float32 // of the current word
}

// sheet accumulates scores, a cell for each row.
type sheet struct {
	cells   []cell
	touched []int32 // rows with a total
	current []int32 // rows with a score for the current word
	list    []posting
}

var sheets = sync.Pool{New: func() any { return new(sheet) }}

func (s *sheet) grow(rows int) {
	if len(s.cells) < rows {
		s.cells = make([]cell, rows)
	}
}

// add gives the current word the postings of a term, of rows that are allowed.
func (s *sheet) add(b blob, value float32, allowed []uint64) (err error) {
	if s.list, err = readPostings(s.list[:0], b.rows); err != nil {
		return err
	}
	base := b.block << blockBits
	value *= maxImpact / 255
	for _, p := range s.list {
		row := base + int(p.row)
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
	return nil
}

// close adds the scores of a word to the totals.
func (s *sheet) close(value float32) {
	for _, row := range s.current {
		c := &s.cells[row]
		if c.total == 0 {
			s.touched = append(s.touched, row)
		}
		c.total += c.word
		c.covered += min(value, c.word)
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
	order := func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row)) }
	kept := make([]scored, 0, 2*n)
	var least float32
	for _, row := range s.touched {
		c := s.cells[row]
		score := c.total * (1 - coverage + coverage*c.covered/float32(whole))
		if score < least {
			continue
		}
		if kept = append(kept, scored{row, score}); len(kept) == 2*n {
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
	if err := l.readBlobs(chosen); err != nil {
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
		for _, b := range l.blobs[u.id] {
			if err := s.add(b, u.value, allowed); err != nil {
				return nil, 0, err
			}
		}
		if i+1 == len(chosen) || chosen[i+1].word != u.word {
			var value float32
			if w := words[u.word]; !w.Extra {
				value = float32(l.value(w))
			}
			s.close(value)
		}
	}
	return s.best(n, whole), whole, nil
}

// allowed returns the rows that are in all sets, one bit each.
func (l *lookup) allowed(sets []string) ([]uint64, error) {
	var all []uint64
	for i, name := range sets {
		bits := make([]uint64, l.rows>>6+1)
		rows, err := l.query(l.findSet, name)
		if err != nil {
			return nil, err
		}
		if err := readSet(rows, bits); err != nil {
			return nil, err
		}
		if i == 0 {
			all = bits
			continue
		}
		for j := range all {
			all[j] &= bits[j]
		}
	}
	return all, nil
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

const (
	// similarWeight is the weight of a term that begins with a word, or is a
	// typing error away from it.
	similarWeight = 0.5
	maxCompleted  = 6 // words that are completed or corrected
	maxSimilar    = 8 // terms for each
)

// similar adds terms to words that do not occur: longer terms that begin with
// them, and terms that are a typing error away. It reports whether it found
// any.
func (l *lookup) similar(words []terms.Word) (more bool, err error) {
	tried := 0
	for i, w := range words {
		if w.Function { // these are short, so many words are like them
			continue
		}
		name := []rune(w.Terms[0].Text)
		if _, ok := l.known[w.Terms[0].Text]; ok || tried == maxCompleted || len(name) == 0 || len(name) < 3 && !terms.Wide(name[0]) {
			continue
		}
		tried++
		found, err := l.like(name)
		if err != nil {
			return false, err
		}
		for _, f := range found {
			l.known[f.name] = f.listed
			words[i].Terms = append(words[i].Terms, terms.Term{Text: f.name, Weight: similarWeight / float32(1+f.distance)})
			more = true
		}
	}
	return more, nil
}

type similarTerm struct {
	name     string
	distance int
	listed
}

// like returns the terms that begin with a name, the most common first, and then
// those that are a typing error away. A name without digits is not corrected to one
// with digits: these are numbered names and no words.
func (l *lookup) like(name []rune) ([]similarTerm, error) {
	rows, err := l.query(l.completedTerms, string(name))
	if err != nil {
		return nil, err
	}
	found, err := readSimilar(rows)
	errs := maxErrors(name)
	if err != nil || errs == 0 || len(found) >= maxSimilar {
		return found, err
	}
	corrected := l.correctedTerms
	if strings.ContainsAny(string(name), "0123456789") {
		corrected = l.correctedIDs
	}
	if rows, err = l.query(corrected, string(name[:2]), len(name)-errs, len(name)+errs); err != nil {
		return nil, err
	}
	others, err := readSimilar(rows)
	if err != nil {
		return nil, err
	}
	for i, t := range others {
		others[i].distance = distance(name, []rune(t.name), errs)
	}
	others = slices.DeleteFunc(others, func(t similarTerm) bool {
		return t.distance > errs || strings.HasPrefix(t.name, string(name))
	})
	slices.SortFunc(others, func(a, b similarTerm) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.rows, a.rows), cmp.Compare(a.name, b.name))
	})
	found = append(found, others...)
	return found[:min(maxSimilar, len(found))], nil
}

// maxErrors is how many typing errors a word may have.
func maxErrors(name []rune) int {
	switch {
	case terms.Wide(name[0]): // pairs of characters have none
		return 0
	case len(name) >= 8:
		return 2
	case len(name) >= 4:
		return 1
	}
	return 0
}

func readSimilar(rows *sql.Rows) (found []similarTerm, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var t similarTerm
		if err := rows.Scan(&t.name, &t.id, &t.rows); err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	return found, rows.Err()
}

// distance returns the number of letters that are missing, added, wrong or
// swapped with the next, but at most most+1.
func distance(a, b []rune, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		now[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(last[j+1]+1, now[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return min(last[len(b)], most+1)
}
