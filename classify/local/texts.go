package local

import (
	"strings"
	"unicode/utf8"

	"intenthint/intents"
	"intenthint/internal/text"
)

// Characters of a text that are embedded: its beginning and its end.
const headChars, tailChars = 800, 200

// FewTextsOf returns at most most of the catalogue's [TextsOf] for which fits
// returns true: equally many of each intent and of the fallback, examples
// before triggers.
func FewTextsOf(cat *intents.Catalog, most int, fits func(text string) bool) []string {
	root := cat.Root()
	byClass := make([][]string, len(root.Enabled())+1)
	seen := make(map[string]struct{})
	for _, sm := range samplesOf(root) {
		text := textOf(sm.text)
		if _, again := seen[text]; again || text == "" || !fits(text) {
			continue
		}
		seen[text] = struct{}{}
		byClass[sm.class+1] = append(byClass[sm.class+1], text)
	}
	var out []string
	for k, more := 0, true; more; k++ {
		more = false
		for _, texts := range byClass {
			if k < len(texts) && len(out) < most {
				out, more = append(out, texts[k]), true
			}
		}
	}
	return out
}

// TextsOf returns the texts whose vectors [TrainEmbedded] needs, each once.
func TextsOf(cat *intents.Catalog) []string {
	var out []string
	seen := make(map[string]struct{})
	for _, sm := range samplesOf(cat.Root()) {
		text := textOf(sm.text)
		if _, again := seen[text]; again || text == "" {
			continue
		}
		seen[text] = struct{}{}
		out = append(out, text)
	}
	return out
}

// textOf returns the text to embed for a message. It is on one line; of a long
// text it has the beginning and the end.
func textOf(message string) string {
	all := text.Fold(strings.ToValidUTF8(withoutAddress(message), " "))
	if len(all) <= headChars+tailChars || utf8.RuneCountInString(all) <= headChars+tailChars {
		return all
	}
	runes := []rune(all)
	return string(runes[:headChars]) + " … " + string(runes[len(runes)-tailChars:])
}
