package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text/fold"
	"intenthint/internal/text/stem"
)

// longest is the maximum length of a term in bytes: anything longer is data
// that nobody types.
const longest = 64

// Each calls yield with every term of a text, as often as it occurs, in the
// order of the text: stems of words, code identifiers whole and in parts, pairs
// of characters of scripts without spaces, Chinese ones in their simplified form. function reports whether the term is
// a word without a meaning of its own; its text is that of no other term.
func Each(text string, yield func(term string, function bool)) {
	scan(text, func(term string, k kind) { yield(term, k == function) })
}

// kind is the kind of a term.
type kind uint8

const (
	word     kind = iota // a word, or a part of an identifier
	whole                // an identifier as written, or without the separators of its parts
	pair                 // two characters of a text without spaces
	last                 // the last character of such a text
	function             // a word without a meaning of its own
)

// functionMark begins the terms of function words. The stems of other words may be
// spelt like them ("cans").
const functionMark = " "

// scan is [Each] with the kinds of the terms.
func scan(text string, yield func(string, kind)) {
	text = fold.Apostrophes(fold.NFKC(strings.ToValidUTF8(text, " ")))
	start := -1 // of the chunk of letters, digits and separators
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case Wide(r):
			if start >= 0 {
				chunk(text[start:i], yield)
				start = -1
			}
			end := i
			for end < len(text) {
				r, n := utf8.DecodeRuneInString(text[end:])
				if !Wide(r) {
					break
				}
				end += n
			}
			pairs(strings.Map(fold.Simplified, text[i:end]), yield)
			i = end
			continue
		case letter(r) || joins(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			chunk(text[start:i], yield)
			start = -1
		}
		i += n
	}
	if start >= 0 {
		chunk(text[start:], yield)
	}
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func joins(r rune) bool {
	return r < utf8.RuneSelf && strings.ContainsRune("_-./:@+#'&~$%=\\", r)
}

// Wide reports whether r is of a script that does not put spaces between words, or is
// treated like one. The terms of such a text are pairs of its characters.
func Wide(r rune) bool {
	return fold.Unspaced(r) || r == 'ー'
}

// pairs yields the pairs of characters of a text without spaces, and its last
// character, so that every character begins a term. A character includes the
// marks that follow it, such as the vowels and tones of Thai.
func pairs(text string, yield func(string, kind)) {
	before, begin := -1, 0 // where the previous and the current character begin
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if i > 0 && !unicode.IsMark(r) {
			if before >= 0 {
				limited(text[before:i], pair, yield)
			}
			before, begin = begin, i
		}
		i += n
	}
	if before >= 0 {
		limited(text[before:], pair, yield)
	}
	limited(text[begin:], last, yield)
}

func limited(text string, k kind, yield func(string, kind)) {
	if len(text) <= longest {
		yield(text, k)
	}
}

// chunk yields the terms of a text without spaces.
func chunk(text string, yield func(string, kind)) {
	text = strings.Trim(text, "-./:@'&~$%=\\")
	trimmed := strings.TrimLeft(text, "_+#")
	if short := strings.TrimRight(trimmed, "_+#"); len(short) > 2 || len(trimmed) > len(short)+2 {
		trimmed = short // but C++ and F# stay
	}
	text = trimmed
	if text == "" {
		return
	}
	if !strings.ContainsAny(text, "/:@=\\&$%~") {
		identifier(text, yield)
		return
	}
	if len(text) <= longest {
		yield(strings.ToLower(text), whole)
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r < utf8.RuneSelf && strings.ContainsRune("/:@=\\&$%~", r) }) {
		if part = strings.Trim(part, "-.'"); part != "" {
			identifier(part, yield)
		}
	}
}

// identifier yields a word, or an identifier with its parts: HTTP_PROXY,
// kubectl-apply, fooBar, nginx.conf.
func identifier(text string, yield func(string, kind)) {
	if text == "" {
		return
	}
	if i := strings.IndexByte(text, '\''); i >= 0 {
		before, after := text[:i], strings.TrimLeft(text[i:], "'")
		switch {
		case strings.EqualFold(after, "t"): // doesn't
			limited(functionMark+strings.ToLower(before)+"'t", function, yield)
		case after == "" || clitic[strings.ToLower(after)]: // the user's
			identifier(before, yield)
		default: // l'imprimante, dell'azienda
			if len(before) > 2 {
				identifier(before, yield)
			}
			identifier(after, yield)
		}
		return
	}
	if i := afterNumber(text); i > 0 { // HTTP2Server
		written(text, 2, yield)
		for ; i > 0; i = afterNumber(text) {
			identifier(text[:i], yield)
			text = text[i:]
		}
		identifier(text, yield)
		return
	}
	var few [16]string
	parts := split(few[:0], text)
	if len(parts) == 1 && len(parts[0]) == len(text) {
		plain(text, yield)
		return
	}
	written(text, len(parts), yield)
	for _, part := range parts {
		plain(part, yield)
	}
}

// written yields an identifier as it is written, and without the separators of its
// parts.
func written(text string, parts int, yield func(string, kind)) {
	lower := strings.ToLower(text)
	if len(lower) > longest {
		return
	}
	joined := strings.Map(func(r rune) rune {
		if letter(r) {
			return r
		}
		return -1
	}, lower)
	if joined != lower || parts == 0 {
		yield(lower, whole)
	}
	if parts > 1 {
		yield(stem.English(joined), whole) // so that "ios" finds iOS
	}
}

// afterNumber returns the index of the first capital that follows a word with a
// number and begins a word, as in S3BucketPolicy and EC2URL; -1 if there is none. A
// single capital belongs to its number (K8S, W3CValidator), and so do capitals behind
// a number alone (2FA, 512MB).
func afterNumber(text string) int {
	var before rune
	for i, r := range text {
		if unicode.IsUpper(r) && unicode.IsDigit(before) && strings.TrimRightFunc(text[:i], unicode.IsDigit) != "" {
			capitals, next := 0, rune(0)
			for _, next = range text[i:] {
				if !unicode.IsUpper(next) {
					break
				}
				capitals++
			}
			if capitals > 2 || (capitals == 1) == unicode.IsLower(next) {
				return i
			}
		}
		before = r
	}
	return -1
}

// split appends the parts of an identifier: the parts between characters that
// are not letters, fooBar and HTTPServer split at their capitals, python3
// without its number.
func split(parts []string, text string) []string {
	start := -1
	var before rune
	for i, r := range text {
		if !letter(r) {
			if start >= 0 {
				parts = append(parts, text[start:i])
			}
			start, before = -1, 0
			continue
		}
		switch {
		case start < 0:
			start = i
		case unicode.IsUpper(r) && unicode.IsLower(before), unicode.IsDigit(r) && unicode.IsLetter(before) && i-start >= 3:
			parts = append(parts, text[start:i])
			start = i
		case unicode.IsUpper(r) && unicode.IsUpper(before):
			if next, n := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):]); n > 0 && unicode.IsLower(next) && plural(text[i+utf8.RuneLen(r):]) {
				parts = append(parts, text[start:i])
				start = i
			}
		}
		before = r
	}
	if start >= 0 {
		parts = append(parts, text[start:])
	}
	return parts
}

// plural reports whether rest, which follows a capital, begins a word of its
// own rather than being the s of URLs.
func plural(rest string) bool {
	return rest != "s" && !strings.HasPrefix(rest, "s_") && !strings.HasPrefix(rest, "s-")
}

func plain(text string, yield func(string, kind)) {
	text = strings.ToLower(text)
	if text == "" || len(text) > longest {
		return
	}
	if stop[text] {
		yield(functionMark+text, function)
		return
	}
	if term := stem.English(bare(text)); term != "" { // accents alone are not a word
		yield(term, word)
	}
}

// letters replaces single letters that people also write as two.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe")

// bare returns a word in Latin or Greek letters without accents.
func bare(text string) string {
	other := false // than ASCII
	for _, r := range text {
		if r >= utf8.RuneSelf {
			if !unicode.In(r, unicode.Latin, unicode.Greek) && !unicode.IsMark(r) {
				return text
			}
			other = true
		}
	}
	if !other {
		return text
	}
	return fold.WithoutMarks(letters.Replace(text))
}
