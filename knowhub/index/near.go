package index

import (
	"cmp"
	"context"
	"maps"
	"slices"

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
func (x *Index) Near(ctx context.Context, e experience.Experience, own bool) ([]Hit, error) {
	said, _ := frequencies(e)
	if len(said) == 0 {
		return nil, nil
	}
	words := make([]terms.Word, 0, len(said))
	for _, term := range slices.Sorted(maps.Keys(said)) {
		words = append(words, terms.Word{Weight: 1, Terms: []terms.Term{{Text: term, Weight: 1}}})
	}
	var near []Hit
	err := x.look(ctx, func(l *lookup) error {
		if err := l.find(words); err != nil {
			return err
		}
		slices.SortStableFunc(words, func(a, b terms.Word) int { return cmp.Compare(l.value(b), l.value(a)) })
		words = slices.DeleteFunc(words, func(w terms.Word) bool { return l.known[w.Terms[0].Text].rows == 0 })
		words = words[:min(nearTerms, len(words))]
		allowed := slices.Repeat([]uint64{^uint64(0)}, l.rows>>6+1)
		if own {
			var err error
			if allowed, err = l.allowed([]string{agentSet(e.AgentID)}); err != nil || len(allowed) == 0 {
				return err
			}
		}
		top, _, err := l.best(words, allowed, nearCandidates)
		if err != nil || len(top) == 0 {
			return err
		}
		hits, err := l.load(top)
		if err != nil {
			return err
		}
		for _, h := range hits {
			other, _ := frequencies(h.Experience)
			if h.Score = common(said, other); h.ID != e.ID && h.Score >= nearLeast {
				near = append(near, h)
			}
		}
		return nil
	})
	slices.SortFunc(near, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	return near, err
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
