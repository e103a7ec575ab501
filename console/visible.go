package console

import (
	"fmt"
	"unicode"
)

// segment is a stretch of text. A hidden segment is a character that is
// invisible, or that changes the direction of the text around it: Text is then
// its name, such as "U+202E". A reviewer must see everything.
type segment struct {
	Text   string
	Hidden bool
}

// visible splits a text into parts that are shown unchanged and characters that
// are named.
func visible(text string) []segment {
	var out []segment
	from := 0
	for i, r := range text {
		if !hidden(r) {
			continue
		}
		if from < i {
			out = append(out, segment{Text: text[from:i]})
		}
		out = append(out, segment{Text: fmt.Sprintf("U+%04X", r), Hidden: true})
		from = i + len(string(r))
	}
	if from < len(text) {
		out = append(out, segment{Text: text[from:]})
	}
	return out
}

// hidden reports whether a character is named: controls, format characters such
// as those that change the direction of text, tags, private use, fillers, and
// variation selectors. Characters that emoji and many scripts need are not
// named: joiners, and the selectors of text and emoji form.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\u200C', r == '\u200D', r == '\uFE0E', r == '\uFE0F':
		return false
	case unicode.Is(unicode.Variation_Selector, r), r == '\u2028', r == '\u2029', r == '\u115F', r == '\u1160', r == '\u3164', r == '\uFFA0':
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}
