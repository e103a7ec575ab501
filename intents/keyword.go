package intents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"intenthint/internal/text/fold"
)

// keywords finds intents by the keywords of their fast paths.
type keywords struct {
	byText  map[string][]int // positions in Catalog.enabled, in their order, then theFallback
	longest int              // of the texts, in bytes
}

// theFallback stands for the fallback in place of a position.
const theFallback = -1

func keywordsOf(enabled []Intent, fallback Intent) keywords {
	k := keywords{byText: map[string][]int{}}
	add := func(i int, in Intent) {
		for _, word := range in.Fastpath.Keywords {
			text := bare(word)
			if text == "" {
				continue
			}
			k.byText[text] = append(k.byText[text], i)
			k.longest = max(k.longest, len(text))
		}
	}
	for i, in := range enabled {
		add(i, in)
	}
	add(theFallback, fallback)
	return k
}

// maxBareRatio is how many times longer than its bare form a message may be: a
// four-byte character for each letter, with a blank after it, and room for
// rarer cases.
const maxBareRatio = 8

// Keyword returns the intent with a fast-path keyword that equals the whole
// message; of several the first by id, and the fallback last (contract §6).
func (c *Catalog) Keyword(message string) (Intent, bool) {
	root := c.root
	if len(message) > maxBareRatio*root.keywords.longest {
		return Intent{}, false
	}
	for _, i := range root.keywords.byText[bare(message)] {
		if i == theFallback {
			return root.fallback, true // which cannot be denied
		}
		if c.allowed == nil || c.allowed[i] {
			return root.enabled[i], true
		}
	}
	return Intent{}, false
}

// bare returns a text in NFKC, without white space and without case.
func bare(s string) string { return fold.WithoutSpace(fold.Case(s)) }

// sharedKeywords returns a warning for each keyword that another intent also has and
// answers (see [Catalog.Keyword]).
func sharedKeywords(files []File) []Fault {
	files = slices.Clone(files)
	last := func(f File) int { // the fallback answers last
		if strings.EqualFold(f.Intent.ID, FallbackID) {
			return 1
		}
		return 0
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a.Intent.ID, b.Intent.ID))
	})
	var faults []Fault
	first := map[string]File{}
	for _, f := range files {
		if !f.Enabled {
			continue
		}
		for _, word := range f.Intent.Fastpath.Keywords {
			text := bare(word)
			by, taken := first[text]
			switch {
			case text == "":
			case !taken:
				first[text] = f
			case by.Name != f.Name:
				faults = append(faults, Fault{
					File: f.Name, Line: 1, Severity: Warning,
					Reason: fmt.Sprintf("keyword %q also belongs to %s in %s, which comes first by id and gets the message", word, by.Intent.ID, by.Name),
				})
			}
		}
	}
	return faults
}
