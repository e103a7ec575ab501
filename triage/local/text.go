package local

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text"
	"intenthint/internal/text/fold"
)

// message is a text in the form that features read.
type message struct {
	folded string   // lower case, NFKC, one line, cut at maxText characters
	words  []string // runs of letters and digits that are not CJK
	spaced string   // the words, separated and surrounded by single spaces
	cjk    []string // runs of Han and kana
	long   bool     // the text was longer than maxText

	han, kana, latin, other int // letters by script
	digits, emoji           int
	chars                   int // neither blank nor invisible

	lists, first lexicon // lists with entries in the text, and at its beginning
}

// read folds a text and counts its letters by script.
func read(s string, limit int) message {
	s, long := cut(s, limit)
	var m message
	m.long = long
	m.folded = text.Fold(fold.Lower(s))
	start, kind := 0, 0
	flush := func(end int) {
		switch kind {
		case word:
			m.words = append(m.words, m.folded[start:end])
		case ideogram:
			m.cjk = append(m.cjk, m.folded[start:end])
		}
	}
	for i, r := range m.folded {
		k := m.count(r)
		if k == apostrophe && kind == word {
			k = word
		}
		if k != kind {
			flush(i)
			start, kind = i, k
		}
	}
	flush(len(m.folded))
	for i, w := range m.words {
		m.words[i] = strings.Trim(strings.ReplaceAll(w, "’", "'"), "'")
	}
	m.spaced = " " + strings.Join(m.words, " ") + " "
	m.look()
	return m
}

// Kinds of characters.
const (
	gap = iota
	word
	ideogram
	apostrophe
)

// count counts a character of the folded text and returns its kind.
func (m *message) count(r rune) int {
	if r != ' ' && unicode.IsGraphic(r) {
		m.chars++
	}
	switch {
	case 'a' <= r && r <= 'z':
		m.latin++
		return word
	case isKana(r):
		m.kana++
		return ideogram
	case unicode.Is(unicode.Han, r):
		m.han++
		return ideogram
	case unicode.Is(unicode.Latin, r):
		m.latin++
		return word
	case unicode.IsLetter(r):
		m.other++
		return word
	case unicode.IsDigit(r):
		m.digits++
		return word
	case unicode.Is(unicode.Mn, r) && r != '\ufe0f':
		return word
	case r == '\'' || r == '’':
		return apostrophe
	case r >= 0x1F000 || r >= 0x2600 && r < 0x27C0:
		m.emoji++
	}
	return gap
}

func isKana(r rune) bool {
	return unicode.In(r, unicode.Hiragana, unicode.Katakana) || r == 'ー'
}

func isCJK(r rune) bool { return fold.CJK(r) || r == 'ー' }

// cut returns at most limit characters of s, and whether there were more.
func cut(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	return cutRunes(s, limit)
}

func cutRunes(s string, limit int) (string, bool) {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i], true
		}
		n++
	}
	return s, false
}

// callsFirst reports whether the text seems to begin by addressing somebody:
// one short word, a comma, and more.
func (m *message) callsFirst() bool {
	head, rest, ok := strings.Cut(strings.ReplaceAll(m.folded, "、", ","), ",")
	return ok && rest != "" && !strings.Contains(head, " ") && utf8.RuneCountInString(head) <= 10
}

// callsLast reports whether the text seems to end by addressing somebody: a
// comma and one word.
func (m *message) callsLast() bool {
	i := strings.LastIndexByte(m.folded, ',')
	return i > 0 && len(strings.Fields(m.folded[i+1:])) == 1 && utf8.RuneCountInString(m.folded[i+1:]) <= 10
}

// asks reports whether the text has a question mark.
func (m *message) asks() bool { return strings.Contains(m.folded, "?") }

// mentions reports whether the text contains the name: as a word, or as a part
// of CJK text. Names are folded like texts.
func (m *message) mentions(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	if isCJK(r) {
		return strings.Contains(m.folded, name)
	}
	return strings.Contains(m.spaced, " "+name+" ")
}

// nameParts returns the parts of a sender's name by which people address
// somebody.
func nameParts(sender string) []string {
	m := read(sender, maxEarlier)
	parts := m.words[:0:0]
	for _, w := range m.words {
		if utf8.RuneCountInString(w) >= 2 {
			parts = append(parts, w)
		}
	}
	for _, run := range m.cjk {
		if utf8.RuneCountInString(run) >= 2 {
			parts = append(parts, run)
			continue
		}
		for _, title := range [...]string{"さん", "くん", "君", "ちゃん", "总", "哥", "姐"} {
			parts = append(parts, run+title)
		}
	}
	return parts
}

// nearly reports whether a and b differ by at most one insertion, deletion,
// replacement or swap of neighbours.
func nearly(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	if len(x) < len(y) {
		return string(x[i:]) == string(y[i+1:])
	}
	if i == len(x) || string(x[i+1:]) == string(y[i+1:]) {
		return true
	}
	return i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i] && string(x[i+2:]) == string(y[i+2:])
}
