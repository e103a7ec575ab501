package terms

import (
	_ "embed"
	"slices"
	"strings"

	"intenthint/internal/text/fold"
	"intenthint/internal/text/stem"
)

// synonyms are groups of words with the same meaning, one group per line. A
// word may be in several groups. Other forms of an English word count as the
// word; two Chinese or Japanese characters are a pair.
var synonyms = groups(synonymWords)

//go:embed synonyms.txt
var synonymWords string

// groups maps a term to the terms of its groups.
func groups(text string) map[string][]string {
	m := make(map[string][]string)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, w := range words {
			words[i] = strings.Map(fold.Simplified, stem.English(w))
		}
		for i, w := range words {
			for j, other := range words {
				if i != j && w != other && !slices.Contains(m[w], other) {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	return m
}
