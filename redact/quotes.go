package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text/fold"
)

// Quotes redacts texts that quote other texts out of context or cut, where
// [Text] no longer recognises a secret: reasons and goals of a classification
// quote the user's messages. The zero value quotes nothing.
type Quotes struct{ original, shown strings.Builder }

// Add redacts a text that may be quoted, and returns it as by [Text].
func (q *Quotes) Add(s string) string {
	shown := Text(s)
	q.AddRedacted(s, shown)
	return shown
}

// AddRedacted adds a text that may be quoted and has been redacted already.
func (q *Quotes) AddRedacted(original, shown string) {
	if original == shown {
		return
	}
	q.original.WriteString(spelled(original))
	q.shown.WriteString(spelled(shown))
}

// Text redacts a text that may quote the added ones: as [Text] does, and without
// the words that their redaction removed.
func (q *Quotes) Text(s string) string {
	s = Text(s)
	if q.original.Len() == 0 {
		return s
	}
	original, shown := q.original.String(), q.shown.String()
	var b strings.Builder
	for s != "" {
		word, rest := cutWord(s)
		if word != "" && hides(original, shown, word, strings.HasPrefix(rest, "…")) {
			b.WriteString(marks[userName])
		} else {
			b.WriteString(word)
		}
		gap := len(rest)
		if i := strings.IndexFunc(rest, inWord); i >= 0 {
			gap = i
		}
		b.WriteString(rest[:gap])
		s = rest[gap:]
	}
	return b.String()
}

// shortest is the minimum length, in letters, of a word that could be a secret.
// Shorter words occur in every sentence.
const shortest = 3

// hides reports whether a word is in the original texts but not in the redacted
// ones. A cut word matches every word that begins with it.
func hides(original, shown, word string, cut bool) bool {
	word = strings.TrimSpace(spelled(word))
	if strings.IndexFunc(word, fold.Unspaced) >= 0 { // no spaces mark where its words end
		return strings.Contains(original, word) && !strings.Contains(shown, word)
	}
	if utf8.RuneCountInString(word) < shortest {
		return false
	}
	end := " "
	if cut {
		end = ""
	}
	return strings.Contains(original, " "+word) && !strings.Contains(shown, " "+word+end)
}

// cutWord cuts a word, that is, letters and digits, off the beginning of s.
// word is "" if s begins with something else.
func cutWord(s string) (word, rest string) {
	unspaced := false
	for i, r := range s {
		if !inWord(r) || i > 0 && fold.Unspaced(r) != unspaced && !unicode.IsMark(r) {
			return s[:i], s[i:]
		}
		if i == 0 {
			unspaced = fold.Unspaced(r)
		}
	}
	return s, ""
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// spelled returns the words of s, each between spaces, in a form coarser than
// that of any classifier: without case, accents and doubled letters.
func spelled(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	last, unspaced := ' ', false
	for _, r := range fold.WithoutMarks(s) {
		switch {
		case !inWord(r):
			r = ' '
		case last != ' ' && fold.Unspaced(r) != unspaced:
			b.WriteByte(' ')
		}
		r = unicode.ToLower(r)
		unspaced = fold.Unspaced(r)
		if r != last {
			b.WriteRune(r)
			last = r
		}
	}
	b.WriteByte(' ')
	return b.String()
}
