package index

import (
	"cmp"
	"database/sql"
	"slices"
	"strings"
	"unsafe"

	"intenthint/knowhub/index/terms"
)

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
		found, ok := get(l.cache, l.cache.similar, string(name))
		if !ok {
			if found, err = l.like(name); err != nil {
				return false, err
			}
			put(l.cache, l.cache.similar, string(name), found, maxSimilar*int(unsafe.Sizeof(similarTerm{})))
		}
		for _, f := range found {
			if t, ok := get(l.cache, l.cache.terms, f.name); ok {
				f.listed = t
			}
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
