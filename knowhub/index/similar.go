package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/knowhub/index/terms"
)

const (
	// similarWeight is the weight of a term that begins with a word, or is a
	// typing error away from it.
	similarWeight = 0.5
	maxCompleted  = 6 // words that are completed or corrected
	maxSimilar    = 8 // terms for each
	// maxAlike bounds the terms that begin like a word and are looked at.
	maxAlike = 2000
)

// similar adds terms to words that do not occur: longer terms that begin with
// them, and terms that are a typing error away. It reports whether it found
// any.
func (l *lookup) similar(words []terms.Word) (more bool) {
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
		for _, f := range l.like(name) {
			l.known[f.name] = f.term
			words[i].Guessed = words[i].Guessed || f.distance > 0
			words[i].Terms = append(words[i].Terms, terms.Term{Text: f.name, Weight: similarWeight / float32(1+f.distance)})
			more = true
		}
	}
	return more
}

type similarTerm struct {
	*term
	name     string
	distance int
}

// like returns the terms that begin with a name, the most common first, and then
// those that are a typing error away. A name without digits is not corrected to one
// with digits: these are numbered names and no words.
func (l *lookup) like(name []rune) []similarTerm {
	completed, corrected := l.completed(string(name)), top[similarTerm]{most: maxSimilar, order: mostAlike}
	errs := maxErrors(name)
	if errs == 0 || len(completed) == maxSimilar {
		return completed
	}
	for _, other := range l.namesFor(string(name)).beginning(string(name[:2]), maxAlike) {
		if n := utf8.RuneCountInString(other); n < len(name)-errs || n > len(name)+errs || strings.HasPrefix(other, string(name)) {
			continue
		}
		if d := distance(name, []rune(other), errs); d <= errs {
			corrected.add(similarTerm{l.terms[other], other, d})
		}
	}
	found := append(completed, corrected.sorted()...)
	return found[:min(maxSimilar, len(found))]
}

// completed returns the terms that begin with a name, the most common first.
func (l *lookup) completed(name string) []similarTerm {
	all := append(l.words.beginning(name, maxAlike), l.numbered.beginning(name, maxAlike)...)
	if len(all) > maxAlike {
		slices.Sort(all)
		all = all[:maxAlike]
	}
	completed := top[similarTerm]{most: maxSimilar, order: mostAlike}
	for _, other := range all {
		completed.add(similarTerm{l.terms[other], other, 0})
	}
	return completed.sorted()
}

// mostAlike orders terms: those with the fewest errors first, then the most common.
func mostAlike(a, b similarTerm) int {
	return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(len(b.postings), len(a.postings)), cmp.Compare(a.name, b.name))
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
