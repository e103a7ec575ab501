package redact

import (
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"intenthint/internal/text/fold"
)

// The folded copy has ASCII, Cyrillic, letters of scripts that are written without
// spaces between words, and these characters for all others.
const (
	letter    = 'ä'                                    // any other letter, or a mark on one
	other     = utf8.RuneError                         // symbols, punctuation, NUL, invalid bytes
	covered   = 0                                      // each byte of a rule's match, or of an existing mark
	dropped   = rune(-1)                               // omitted from the copy
	letters   = `ä\x{400}-\x{4FF}`                     // letter and Cyrillic, in a class of a regular expression
	wide      = `\x{E00}-\x{FFFC}\x{10000}-\x{10FFFF}` // the letters without spaces, in such a class
	firstWide = 0xE00
)

// plain maps characters whose plain form is not that of [fold.Plain].
var plain = map[rune]rune{
	'“': '"', '”': '"', '„': '"', '‟': '"', '‘': '\'', '’': '\'', '‚': '\'', '‛': '\'',
	'−': '-', '〜': other, '〰': other, 'ー': 'ー', 'ㅤ': dropped, 0: other,
}

// folded returns the character for r in the folded copy.
func folded(r rune) rune {
	if r >= 0x4E00 && r <= 0x9FFF { // most of Chinese
		return r
	}
	if r >= 0x400 && r <= 0x4FF && unicode.IsLetter(r) {
		return r
	}
	if p, ok := plain[r]; ok {
		return p
	}
	if p, ok := fold.Plain(r); ok {
		return p
	}
	switch {
	case r < utf8.RuneSelf:
		return r
	case fold.Invisible(r):
		return dropped
	case fold.Unspaced(r):
		return r
	case unicode.In(r, unicode.L, unicode.M):
		return letter
	case unicode.Is(unicode.Nd, r):
		zero := r // the digits of a script are ten in a row
		for unicode.Is(unicode.Nd, zero-1) {
			zero--
		}
		return '0' + (r-zero)%10
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Pd, r):
		return '-'
	}
	return other
}

// next returns the character in the folded copy for the first character of s,
// and the length of that in s. With escapes, s is the inside of a JSON string.
func next(s []byte, escapes bool) (rune, int) {
	if escapes && s[0] == '\\' && len(s) > 1 {
		switch s[1] {
		case 'n':
			return '\n', 2
		case 'r':
			return '\r', 2
		case 't':
			return '\t', 2
		case 'b', 'f':
			return ' ', 2
		case 'u':
			r := hex4(s)
			if both := utf16.DecodeRune(r, hex4(s[min(len(s), 6):])); both != utf8.RuneError {
				return folded(both), 12
			}
			return folded(r), 6
		}
		return rune(s[1]), 2
	}
	r, n := utf8.DecodeRune(s)
	return folded(r), n
}

// hex4 reads the character of an escape \uXXXX at the beginning of s.
func hex4(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return utf8.RuneError
	}
	r, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(r)
}

// appendFolded appends the folded copy of s. It reports whether the copy equals
// s.
func appendFolded(dst, s []byte, escapes bool) ([]byte, bool) {
	same := true
	for len(s) > 0 {
		n := 0
		for n < len(s) && s[n] < utf8.RuneSelf && s[n] != covered && (s[n] != '\\' || !escapes) {
			n++
		}
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			break
		}
		same = false
		r, n := next(s, escapes)
		if r != dropped {
			dst = utf8.AppendRune(dst, r)
		}
		s = s[n:]
	}
	return dst, same
}

// unfold converts the positions of spans in the folded copy of s into positions
// in s. Spans are in order and do not overlap.
func unfold(spans []span, s []byte, escapes bool) {
	var at, n int // in s, and in the folded copy
	seek := func(to int) int {
		for n < to && at < len(s) {
			r, size := next(s[at:], escapes)
			at += size
			if r != dropped {
				n += utf8.RuneLen(r)
			}
		}
		return at
	}
	for i := range spans {
		spans[i].start = seek(spans[i].start)
		spans[i].end = seek(spans[i].end)
	}
}
