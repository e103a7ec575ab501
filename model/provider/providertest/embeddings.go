package providertest

import (
	"hash/fnv"
	"strings"
	"unicode"
)

// NGramDimensions is the length of the vectors of [NGrams].
const NGramDimensions = 256

// NGrams returns a function that turns a text into a vector: its words, with
// synonyms replaced by their meaning, and the runs of three characters in them,
// hashed. Texts that share words, or synonyms, are near each other. The result
// is the same in every run.
func NGrams(synonyms map[string]string) func(text string) []float32 {
	return func(text string) []float32 {
		v := make([]float32, NGramDimensions)
		add := func(s string, weight float32) {
			h := fnv.New64a()
			_, _ = h.Write([]byte(s))
			sum := h.Sum64()
			if sum>>63 == 1 {
				weight = -weight
			}
			v[sum%NGramDimensions] += weight
		}
		add("", 0.1) // A text without words also needs a non-zero vector.
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		for _, w := range words {
			if meant, ok := synonyms[w]; ok {
				w = meant
			}
			add(w, 2)
			runes := []rune(" " + w + " ")
			for i := range len(runes) - 2 {
				add(string(runes[i:i+3]), 0.5)
			}
		}
		return v
	}
}
