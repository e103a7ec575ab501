package stem

import (
	_ "embed"
	"strings"
)

// irregular are forms that the rules of the stemmer do not cover. Each line begins with
// the word that its forms count as. Words that share a form count as one word: axes,
// leaves, lives.
var irregular = table(irregularWords)

//go:embed irregular.txt
var irregularWords string

// table maps all words of a line to its first.
func table(text string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 {
				m[w] = words[0]
			}
		}
	}
	return m
}
