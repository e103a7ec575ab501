// Package text folds text to one line and cuts it between characters.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Truncated marks a text that was cut for a model (contract §5).
const Truncated = " (truncated...)"

// LeftOut stands between the head and the tail of a text that was cut in the
// middle (contract §5).
const LeftOut = "… (truncated...) …"

// Middle returns s in at most n characters: all of it, or its head and its tail,
// half each, with [LeftOut] between them. Where there is no room for that, the
// head is returned.
func Middle(s string, n int) string {
	if len(Cut(s, n)) == len(s) {
		return s
	}
	room := n - utf8.RuneCountInString(LeftOut)
	if room < 2 {
		return Cut(s, n)
	}
	tail := len(s)
	for range room / 2 {
		_, size := utf8.DecodeLastRuneInString(s[:tail])
		tail -= size
	}
	return Cut(s, room-room/2) + LeftOut + s[tail:]
}

// Fold returns s on one line: trimmed, with every run of white space replaced
// by one space, and invalid UTF-8 by U+FFFD.
func Fold(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if isFolded(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for word := range strings.FieldsSeq(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// isFolded reports whether Fold would change nothing, the common case.
func isFolded(s string) bool {
	space := true
	for _, r := range s {
		if r != ' ' && unicode.IsSpace(r) || r == ' ' && space {
			return false
		}
		space = r == ' '
	}
	return !space || s == ""
}

// OneLine makes s safe to show on one line of at most limit characters: as
// [Fold] does, with control characters as white space and without the invisible
// characters that reorder or hide text. A cut text ends in an ellipsis.
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

// isPlainLine reports whether OneLine would change nothing, the common case.
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

// isHidden reports whether a character is invisible or changes how a text is
// shown: soft hyphens, bidirectional controls, word joiners, invisible operators,
// blank letters, variation selectors, tag characters. The joiners of scripts and emoji
// (U+200C, U+200D) do not count.
func isHidden(r rune) bool { return unicode.Is(hidden, r) }

var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0xAD, 0xAD, 1},
		{0x61C, 0x61C, 1},
		{0x115F, 0x1160, 1},
		{0x17B4, 0x17B5, 1},
		{0x180B, 0x180F, 1},
		{0x200B, 0x200B, 1},
		{0x200E, 0x200F, 1},
		{0x202A, 0x202E, 1},
		{0x2060, 0x2064, 1},
		{0x2066, 0x206F, 1},
		{0x3164, 0x3164, 1},
		{0xFE00, 0xFE0F, 1},
		{0xFEFF, 0xFEFF, 1},
		{0xFFA0, 0xFFA0, 1},
		{0xFFF9, 0xFFFB, 1},
	},
	R32:         []unicode.Range32{{0x1D173, 0x1D17A, 1}, {0xE0000, 0xE007F, 1}, {0xE0100, 0xE01EF, 1}},
	LatinOffset: 1, // one range of R16 is Latin-1
}

// Blank reports whether a text has only white space and invisible characters,
// joiners among them.
func Blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !isHidden(r) && r != '\u200c' && r != '\u200d'
	}) < 0
}

// Cut returns the first n characters of s, without a copy.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// Clip returns s cut to n characters, the last of them an ellipsis if anything
// is missing.
func Clip(s string, n int) string {
	if len(Cut(s, n)) == len(s) {
		return s
	}
	return Cut(s, n-1) + "…"
}

// CutBytes returns the whole characters within the first n bytes of s, without
// a copy.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
