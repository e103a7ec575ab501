package intents

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// idOf returns the id of a file without an id field.
func idOf(file string) string {
	return strings.ReplaceAll(strings.ToUpper(strings.TrimSuffix(file, ".md")), "-", "_")
}

// nameOf returns the name of an intent that has none: the words of its id,
// capitalised. Only words in capitals are changed to lower case, so that GitHub
// stays.
func nameOf(id string) string {
	words := strings.FieldsFunc(id, isIDPunctuation)
	for i, word := range words {
		if strings.ToUpper(word) == word {
			word = strings.ToLower(word)
		}
		first, size := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToUpper(first)) + word[size:]
	}
	return strings.Join(words, " ")
}

// checkID rejects ids that would not survive where they are used: models answer
// "ID (Name)", prompts list ids with commas, deny lists match them with globs,
// data and logs hold them as one word. origin tells where the id comes from, if
// not from its field.
func (p *fileParser) checkID(line int, id, origin string) {
	bad := strings.IndexFunc(id, func(r rune) bool { return !isIDRune(r) })
	switch {
	case id == "":
		p.fail(line, "id must not be blank")
	case len(id) > maxIDBytes:
		p.fail(line, "id is longer than %d bytes", maxIDBytes)
	case bad >= 0:
		r, _ := utf8.DecodeRuneInString(id[bad:])
		p.fail(line, "id %q%s must not contain %q", id, origin, r)
	}
}

// isIDRune reports whether an id may contain a character: a letter or digit of
// any script, or one of _ - . : (contract §7).
func isIDRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || isIDPunctuation(r)
}

func isIDPunctuation(r rune) bool { return strings.ContainsRune("_-.:", r) }
