package redact

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The folded copy has ASCII as it is and these bytes for other characters.
const (
	named   byte = 0x80 + iota // the first character of namedLetters
	cjk     byte = 0xFB        // a letter of a script without spaces between words
	letter  byte = 0xFC        // any other letter, or a mark on one
	other   byte = 0xFD        // symbols, punctuation, control characters, invalid bytes
	covered byte = 0xFE        // what a rule has found, or a mark that was there before
	dropped byte = 0xFF        // not in the copy at all
)

// namedLetters are the CJK letters that rules tell apart: those of the words for
// password, key and telephone, and what stands between such a word and its value.
var namedLetters = []rune("密码碼口令钥鑰金鍵パスワード비밀번호是为為は电電话話手机機携帯番号號전화")

// name returns s as it is in a folded copy.
func name(s string) string { return string(appendFolded(nil, []byte(s), false)) }

// Classes of the bytes of a folded copy.
const (
	digit = 1 << iota
	upper
	lower
	wordByte   // what keys and names are made of: letters, digits, _ - .
	localByte  // what stands before the @ of an address
	domainByte // what a label of a domain is made of
	wide       // CJK letters
	spaceByte
	alnum = digit | upper | lower
)

var class = func() (c [256]uint16) {
	for b := range 256 {
		switch r := byte(b); {
		case '0' <= r && r <= '9':
			c[b] = digit | wordByte | localByte | domainByte
		case 'a' <= r && r <= 'z':
			c[b] = lower | wordByte | localByte | domainByte
		case 'A' <= r && r <= 'Z':
			c[b] = upper | wordByte | localByte | domainByte
		case r == '_' || r == '.':
			c[b] = wordByte | localByte
		case r == '-':
			c[b] = wordByte | localByte | domainByte
		case r == '+' || r == '%' || r == '\'':
			c[b] = localByte
		case r == ' ' || '\t' <= r && r <= '\r':
			c[b] = spaceByte
		case r == letter:
			c[b] = localByte | domainByte
		case r >= named && r <= cjk:
			c[b] = wide
		}
	}
	return c
}()

// planes gives the byte for each character of the first two planes, which hold
// what most text is made of.
var planes = func() (table [0x20000]byte) {
	for r := range table {
		table[r] = other
		if r < utf8.RuneSelf {
			table[r] = byte(r)
		}
	}
	set := func(byteOf func(r, first rune) byte, tables ...*unicode.RangeTable) {
		assign := func(lo, hi, stride rune) {
			for r := lo; r <= hi; r += stride {
				if r >= utf8.RuneSelf && int(r) < len(table) {
					table[r] = byteOf(r, lo)
				}
			}
		}
		for _, t := range tables {
			for _, r := range t.R16 {
				assign(rune(r.Lo), rune(r.Hi), rune(r.Stride))
			}
			for _, r := range t.R32 {
				assign(rune(r.Lo), rune(r.Hi), rune(r.Stride))
			}
		}
	}
	always := func(b byte) func(r, first rune) byte { return func(rune, rune) byte { return b } }
	set(always(letter), unicode.L, unicode.M)
	set(always(cjk), unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	// The digits of a script are ten in a row, and a range is made of such rows.
	set(func(r, first rune) byte { return '0' + byte((r-first)%10) }, unicode.Nd)
	set(always(' '), unicode.Zs)
	set(always('-'), unicode.Pd)
	set(always(dropped), unicode.Cf, unicode.Variation_Selector)
	// Wide, small and styled forms are what they are forms of. Circled and raised
	// ones are not: lists and formulas have them beside numbers.
	for _, block := range [][2]rune{{0x2100, 0x214F}, {0xFE50, 0xFE6B}, {0xFF01, 0xFF5E}, {0x1D400, 0x1D7FF}} {
		for r := block[0]; r <= block[1]; r++ {
			if s := norm.NFKC.String(string(r)); len(s) == 1 {
				table[r] = s[0]
			}
		}
	}
	for i, r := range namedLetters {
		table[r] = named + byte(i)
	}
	for r, b := range map[rune]byte{
		'“': '"', '”': '"', '„': '"', '‟': '"', '‘': '\'', '’': '\'', '‚': '\'', '‛': '\'',
		'−': '-', 'ー': named + byte(slices.Index(namedLetters, 'ー')), '〜': other, '〰': other, 'ㅤ': dropped,
	} {
		table[r] = b
	}
	return table
}()

// next returns what stands in a folded copy for the first character of s, and
// that character's length. With escapes, s is the inside of a JSON string.
func next(s []byte, escapes bool) (byte, int) {
	c := s[0]
	if c < utf8.RuneSelf {
		if c != '\\' || !escapes || len(s) < 2 {
			return c, 1
		}
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
			r, ok := hex4(s)
			if !ok {
				return c, 1
			}
			if utf16.IsSurrogate(r) {
				if low, ok := hex4(s[6:]); ok {
					if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
						return lookup(both), 12
					}
				}
				return other, 6
			}
			return lookup(r), 6
		}
		return s[1], 2
	}
	r, n := utf8.DecodeRune(s)
	return lookup(r), n
}

func lookup(r rune) byte {
	switch {
	case int(r) < len(planes):
		return planes[r]
	case r < 0x40000: // Han characters
		return cjk
	case r>>8 == 0xE00 || r>>8 == 0xE01: // tags and variation selectors
		return dropped
	}
	return other
}

// hex4 reads the character of an escape \uXXXX.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// appendFolded appends the folded copy of s.
func appendFolded(dst, s []byte, escapes bool) []byte {
	for len(s) > 0 {
		n := 0
		for n < len(s) && s[n] < utf8.RuneSelf && (s[n] != '\\' || !escapes) {
			n++
		}
		dst = append(dst, s[:n]...)
		if s = s[n:]; len(s) == 0 {
			break
		}
		c, n := next(s, escapes)
		if c != dropped {
			dst = append(dst, c)
		}
		s = s[n:]
	}
	return dst
}

// unfold turns the places of spans in the folded copy of s, whose length is
// length, into places in s. Spans are in order and apart.
func unfold(spans []span, s []byte, length int, escapes bool) {
	if length == len(s) {
		return // every character is one byte
	}
	var at, n int // in s, and in the folded copy
	seek := func(to int) int {
		for n < to && at < len(s) {
			c, size := next(s[at:], escapes)
			at += size
			if c != dropped {
				n++
			}
		}
		return at
	}
	for i := range spans {
		spans[i].start = seek(spans[i].start)
		spans[i].end = seek(spans[i].end)
	}
}

// cover hides a part of a folded copy from the rules.
func cover(t []byte) {
	for i := range t {
		t[i] = covered
	}
}

// hasFold reports whether t begins with prefix, in lower case, in any case.
func hasFold(t []byte, prefix string) bool {
	return len(t) >= len(prefix) && bytes.EqualFold(t[:len(prefix)], []byte(prefix))
}
