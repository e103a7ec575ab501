package local

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text"
	"intenthint/internal/text/fold"
)

// Messages state their purpose at the beginning or at the end. Only this much
// of a longer one is read, so that the time is bounded.
const (
	headRunes = 240
	tailRunes = 80
	// Some characters become several when normalised.
	maxRunes = 3 * (headRunes + tailRunes)
)

// tokenKind decides how a token is cut into features.
type tokenKind uint8

const (
	tokenWord   tokenKind = iota // letters and digits between spaces
	tokenHan                     // a run of a script that is written without spaces
	tokenSymbol                  // an emoji or another symbol with a meaning
)

// token is a part of the normalised text.
type token struct {
	start, end int32 // in runes
	kind       tokenKind
}

// reading is a message in the form that is compared: NFKC, case folded, without
// the accents of Latin letters, without punctuation and apostrophes.
type reading struct {
	buf    []byte
	runes  []rune
	tokens []token
}

// Normalize returns a message in the form in which this package compares
// messages: without case, accents, punctuation and differences of width, Chinese
// in simplified characters, single spaces between words. For a long message it
// returns only the beginning and the end, which the classifier reads.
func Normalize(message string) string {
	var t reading
	t.reset(message)
	var b strings.Builder
	for i, tok := range t.tokens {
		if i > 0 {
			b.WriteByte(' ')
		}
		for _, r := range t.runes[tok.start:tok.end] {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// reset normalises the parts, one after the other, reusing the memory of t.
func (t *reading) reset(parts ...string) {
	t.runes, t.tokens = t.runes[:0], t.tokens[:0]
	for _, s := range parts {
		head, tail := window(withoutAddress(s))
		t.add(head)
		t.add(tail)
	}
}

// maxName bounds the name in a mention, in bytes: platforms allow 32 characters.
const maxName = 64

// withoutAddress returns a message without the mention that it begins with, as in
// "@ada_bot what is on today?": a name says nothing of what is wanted.
func withoutAddress(s string) string {
	name, ok := strings.CutPrefix(strings.TrimSpace(s), "@")
	if !ok {
		return s
	}
	n := strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	})
	if n < 2 || n > maxName {
		return s
	}
	said := strings.TrimLeft(name[n:], " \t\n,:")
	if said == "" || said == name[n:] {
		return s
	}
	return said
}

// window returns the parts of s to read: all of it, or its beginning and its end.
func window(s string) (head, tail string) {
	if len(s) <= headRunes+tailRunes {
		return s, ""
	}
	head = text.Cut(s, headRunes)
	tail = s[len(head):]
	i := len(tail)
	for n := 0; n < tailRunes && i > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(tail[:i])
		i -= size
	}
	return head, tail[i:]
}

func (t *reading) add(s string) {
	if isASCII(s) {
		open := false
		for i := range len(s) {
			open = t.push(latinFold[s[i]], open)
		}
		return
	}
	t.buf = fold.AppendNFKC(t.buf[:0], s)
	open := false
	for i := 0; i < len(t.buf); {
		r, size := utf8.DecodeRune(t.buf[i:])
		i += size
		open = t.push(compared(r), open)
	}
}

// push adds one folded rune; open reports whether the last token may grow; the
// result is open for the next rune.
func (t *reading) push(r rune, open bool) bool {
	switch r {
	case runeSpace:
		return false
	case runeNothing:
		return open
	}
	if len(t.runes) == maxRunes {
		return false
	}
	kind := kindOf(r)
	n := int32(len(t.runes))
	if open && kind != tokenSymbol && t.tokens[len(t.tokens)-1].kind == kind {
		last := &t.tokens[len(t.tokens)-1]
		// "pleeeease" is read as "pleease": further repeats add nothing.
		if kind == tokenWord && n-last.start >= 2 && t.runes[n-1] == r && t.runes[n-2] == r && (r < '0' || r > '9') {
			return true
		}
		t.runes = append(t.runes, r)
		last.end = n + 1
		return true
	}
	t.runes = append(t.runes, r)
	t.tokens = append(t.tokens, token{start: n, end: n + 1, kind: kind})
	return true
}

// Results of compared for runes that do not belong to a token.
const (
	runeSpace   rune = -1 // ends a token
	runeNothing rune = -2 // is left out
)

// latinFold is comparedSlow for the characters of most messages.
var latinFold = func() (table [0x250]rune) {
	for i := range table {
		table[i] = comparedSlow(rune(i))
	}
	return table
}()

// compared returns the form of a character that is compared, or runeSpace or
// runeNothing.
func compared(r rune) rune {
	switch {
	case r < rune(len(latinFold)):
		return latinFold[r]
	case r >= 0x4E00 && r <= 0x9FFF:
		return fold.Simplified(r)
	}
	return comparedSlow(r)
}

func comparedSlow(r rune) rune {
	switch {
	case r == '\'' || r == '’' || r == '‘' || r == '`' || r == 'ʼ':
		return runeNothing
	case r == 0x200C || r == 0x200D || r >= 0xFE00 && r <= 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF:
		// Joiners and non-joiners, variation selectors and skin tones of emoji.
		return runeNothing
	case r == 'đ', r == 'Đ': // has no canonical decomposition
		return 'd'
	case unicode.Is(unicode.Latin, r):
		return fold.Base(unicode.ToLower(r))
	case r >= 0x0370 && r <= 0x0FFF:
		return comparedLetter(r)
	case unicode.IsLetter(r):
		return unicode.ToLower(r)
	case unicode.IsDigit(r), unicode.Is(unicode.M, r):
		return r
	case r == '$' || r == '€' || r == '£' || r == '%' || r == '+' || r == '#' || r == '@':
		return r
	case r < utf8.RuneSelf, r == utf8.RuneError:
		return runeSpace
	case unicode.Is(unicode.So, r), unicode.Is(unicode.Sc, r):
		return r
	}
	return runeSpace
}

// comparedLetter is comparedSlow for Greek and the blocks after it, up to Lao: it leaves out
// what people often do not type, which are the accents of Greek, the points of Hebrew and
// the vowel signs of Arabic. Persian keyboards have their own forms of two Arabic
// letters. Other digits are the same as ours.
func comparedLetter(r rune) rune {
	switch {
	case unicode.Is(unicode.Greek, r):
		if r = fold.Base(unicode.ToLower(r)); r == 'ς' {
			return 'σ'
		}
		return r
	case r >= 0x0591 && r <= 0x05C7, r == '׳', r == '״', // points and marks of Hebrew
		r >= 0x064B && r <= 0x065F, r == 0x0670, r == 'ـ': // vowel signs of Arabic, and its stretched line
		return runeNothing
	case r == 'أ', r == 'إ', r == 'آ':
		return 'ا'
	case r == 'ی', r == 'ى':
		return 'ي'
	case r == 'ک':
		return 'ك'
	case unicode.IsDigit(r):
		return '0' + r - zeroBefore(r)
	case unicode.IsLetter(r):
		return unicode.ToLower(r)
	case unicode.Is(unicode.M, r):
		return r
	case unicode.Is(unicode.So, r), unicode.Is(unicode.Sc, r):
		return r
	}
	return runeSpace
}

// zeroBefore returns the zero of the block of ten that a digit belongs to.
func zeroBefore(digit rune) rune {
	for r := digit; ; r-- {
		if digit-r == 9 || !unicode.IsDigit(r-1) {
			return r
		}
	}
}

func kindOf(r rune) tokenKind {
	switch {
	case r < 0x80:
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return tokenWord
		}
		return tokenSymbol
	case r < 0x0E00:
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) {
			return tokenWord
		}
		return tokenSymbol
	case r >= 0x3040 && r <= 0x30FF, r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF,
		r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF, r >= 0x20000 && r <= 0x323AF, r == 0x3005, r == 0x3007,
		r >= 0x0E00 && r <= 0x0EFF, r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17FF:
		// Han, kana, Hangul; Thai, Lao, Burmese and Khmer have no spaces
		// between words either.
		return tokenHan
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) {
		return tokenWord
	}
	return tokenSymbol
}

// scripts returns the shares, 0 to 1, of runes that are Han or kana, Hangul,
// and of a script other than these and Latin. Digits and symbols count as
// Latin.
func (t *reading) scripts() (han, hangul, other float64) {
	if len(t.runes) == 0 {
		return 0, 0, 0
	}
	for _, r := range t.runes {
		switch {
		case r < rune(len(latinFold)), !unicode.IsLetter(r) && !unicode.Is(unicode.M, r):
		case r >= 0xAC00 && r <= 0xD7A3:
			hangul++
		case kindOf(r) == tokenHan:
			han++
		default:
			other++
		}
	}
	n := float64(len(t.runes))
	return han / n, hangul / n, other / n
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
