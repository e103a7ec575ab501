package classify

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine folds s to one line of at most limit characters: white space,
// control characters and line separators become single spaces, invisible
// characters that reorder or hide text are dropped, and what is cut is marked
// with an ellipsis.
func OneLine(s string, limit int) string {
	if isPlainLine(s, limit) {
		return s
	}
	var b strings.Builder
	b.Grow(min(len(s), 4*limit))
	var n int
	var gap bool
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			gap = n > 0
			continue
		case isHidden(r):
			continue
		}
		if gap && n < limit {
			b.WriteByte(' ')
			n++
		}
		gap = false
		if n == limit {
			return cutLast(b.String()) + "…"
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// isPlainLine reports whether OneLine leaves s as it is, which saves most texts a
// copy.
func isPlainLine(s string, limit int) bool {
	n, space := 0, true
	for _, r := range s {
		switch {
		case r == ' ':
			if space {
				return false
			}
			space = true
		case r < ' ' || r > '~' && (unicode.IsSpace(r) || unicode.IsControl(r) || isHidden(r) || r == utf8.RuneError):
			return false
		default:
			space = false
		}
		if n++; n > limit {
			return false
		}
	}
	return !space || s == ""
}

// cutLast removes the last character of s, and the white space before it.
func cutLast(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return strings.TrimRight(s[:len(s)-size], " ")
}

// isHidden reports characters that change how a text is shown or that nobody
// sees: bidirectional controls, word joiners, tag characters. The joiners of
// scripts and emoji (U+200C, U+200D) stay.
func isHidden(r rune) bool {
	switch {
	case r == '\u200b', r == '\u200e', r == '\u200f', r == '\u2060', r == '\ufeff':
		return true
	case '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
		return true
	case 0xE0000 <= r && r <= 0xE007F:
		return true
	}
	return false
}

// clip cuts s to limit characters, the last of them an ellipsis.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n, last := 0, 0
	for i := range s {
		if n == limit-1 {
			last = i
		}
		if n == limit {
			return s[:last] + "…"
		}
		n++
	}
	return s
}

var (
	textEscaper      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	attributeEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")
)

// EscapeText makes s harmless between tags: it can neither open nor close one.
func EscapeText(s string) string {
	if strings.IndexByte(s, '&') < 0 && strings.IndexByte(s, '<') < 0 && strings.IndexByte(s, '>') < 0 {
		return s
	}
	return textEscaper.Replace(s)
}

// escapeAttribute makes s harmless inside a quoted attribute.
func escapeAttribute(s string) string { return attributeEscaper.Replace(s) }
