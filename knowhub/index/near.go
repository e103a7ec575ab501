package index

import (
	"cmp"
	"maps"
	"slices"
	"unique"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index/terms"
)

const (
	// nearTerms is how many of an experience's terms, the rarest, are looked up to
	// find others that say the same.
	nearTerms = 24
	// nearCandidates bounds the experiences that are compared.
	nearCandidates = 20
	// nearLeast is the least share of terms that near duplicates have in common.
	nearLeast = 0.4
)

// Near returns experiences of any status that say nearly the same as e, best
// first; with own only those of the agent of e. Score is the share of terms in
// common, 0.4–1. The experience with the id of e is left out.
func (x *Index) Near(e experience.Experience, own bool) []Hit {
	said, _ := frequencies(&e)
	words := make([]terms.Word, 0, len(said))
	for _, term := range slices.Sorted(maps.Keys(said)) {
		words = append(words, terms.Word{Weight: 1, Terms: []terms.Term{{Text: term, Weight: 1}}})
	}
	var near []Hit
	for _, s := range x.candidates(words, e.AgentID, own) {
		other, _ := frequencies(&s.Experience)
		if score := common(said, other); s.ID != e.ID && score >= nearLeast {
			near = append(near, Hit{s.copied(), score})
		}
	}
	slices.SortFunc(near, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	return near
}

// candidates returns the rows that share most of the rarest words.
func (x *Index) candidates(words []terms.Word, agent string, own bool) []scored {
	x.mu.RLock()
	defer x.mu.RUnlock()
	l := x.lookUp(words, filter{owned: own, agent: unique.Make(agent)})
	words = slices.DeleteFunc(words, func(w terms.Word) bool { return l.known[w.Terms[0].Text] == nil })
	slices.SortStableFunc(words, func(a, b terms.Word) int { return cmp.Compare(l.value(b), l.value(a)) })
	best, _ := l.best(words[:min(nearTerms, len(words))], nearCandidates)
	return best
}

// common returns the share of terms that a and b have in common.
func common(a, b map[string]float64) float64 {
	var both, all float64
	for term, f := range a {
		both += min(f, b[term])
		all += max(f, b[term])
	}
	for term, f := range b {
		if _, ok := a[term]; !ok {
			all += f
		}
	}
	return both / all
}
