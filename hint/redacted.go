package hint

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"intenthint/payload"
	"intenthint/redact"
)

// redacted returns a turn without personal data and secrets. Its conversation is
// redacted already; conversation and earlier are what the classifier saw,
// unredacted.
func redacted(turn payload.TurnBegun, conversation, earlier []payload.Turn) payload.TurnBegun {
	var q quoted
	said := func(s string) string {
		shown := redact.Text(s)
		q.add(s, shown)
		return shown
	}
	turn.Prompt, turn.Message = said(turn.Prompt), said(turn.Message)
	for i, t := range conversation {
		if i < len(turn.Conversation) {
			q.add(t.Text, turn.Conversation[i].Text)
		}
	}
	for _, t := range earlier {
		said(t.Text)
	}
	turn.Hint = q.redactHint(turn.Hint)
	if turn.Result != nil {
		c := *turn.Result // the run's answer stays as it is
		c.Reason, c.Goal, c.Suggestion = q.redact(c.Reason), q.redact(c.Goal), q.redact(c.Suggestion)
		turn.Result = &c
	}
	turn.Skills = slices.Clone(turn.Skills)
	for i := range turn.Skills {
		s := &turn.Skills[i]
		s.Name, s.Path = redact.Text(s.Name), redact.Text(s.Path)
	}
	return turn
}

// quoted holds the texts in which something was redacted: said before, shown
// after redaction. Reasons and goals quote words of such texts out of context
// or cut, where [redact.Text] no longer recognises a secret.
type quoted struct{ said, shown strings.Builder }

func (q *quoted) add(said, shown string) {
	if said == shown {
		return
	}
	q.said.WriteString(spelled(said))
	q.shown.WriteString(spelled(shown))
}

// hiddenWord replaces a word that must not be quoted.
const hiddenWord = "[REDACTED]"

// redact redacts a text that may quote the messages.
func (q *quoted) redact(s string) string {
	s = redact.Text(s)
	if q.said.Len() == 0 {
		return s
	}
	said, shown := q.said.String(), q.shown.String()
	var b strings.Builder
	for s != "" {
		word, rest := cutWord(s)
		if word != "" && hides(said, shown, word, strings.HasPrefix(rest, "…")) {
			b.WriteString(hiddenWord)
		} else {
			b.WriteString(word)
		}
		gap := len(rest)
		if i := strings.IndexFunc(rest, isWord); i >= 0 {
			gap = i
		}
		b.WriteString(rest[:gap])
		s = rest[gap:]
	}
	return b.String()
}

// redactHint redacts the part of a hint that depends on the message.
func (q *quoted) redactHint(hint string) string {
	lines := strings.SplitAfter(redact.Text(hint), "\n")
	for i, line := range lines {
		if name, _, _ := strings.Cut(line, ": "); name == "reason" || name == "goal" || name == "suggestion" {
			lines[i] = q.redact(line)
		}
	}
	return strings.Join(lines, "")
}

// shortest is the minimum length, in letters, of a word that could be a secret.
// Shorter words occur in every sentence.
const shortest = 3

// hides reports whether a word was said but is not shown. A cut word matches
// every word that begins with it.
func hides(said, shown, word string, cut bool) bool {
	word = strings.TrimSpace(spelled(word))
	if strings.IndexFunc(word, isWide) >= 0 { // no spaces mark where its words end
		return strings.Contains(said, word) && !strings.Contains(shown, word)
	}
	if utf8.RuneCountInString(word) < shortest {
		return false
	}
	end := " "
	if cut {
		end = ""
	}
	return strings.Contains(said, " "+word) && !strings.Contains(shown, " "+word+end)
}

// cutWord cuts a word, that is, letters and digits, off the beginning of s.
// word is "" if s begins with something else.
func cutWord(s string) (word, rest string) {
	wide := false
	for i, r := range s {
		if !isWord(r) || i > 0 && isWide(r) != wide && !unicode.IsMark(r) {
			return s[:i], s[i:]
		}
		if i == 0 {
			wide = isWide(r)
		}
	}
	return s, ""
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// isWide reports whether a letter is of a script that is written without spaces.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// spelled returns the words of s, each between spaces, in a form coarser than
// that of any classifier: without case, accents and doubled letters.
func spelled(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	last, wide := ' ', false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.IsMark(r):
			continue
		case !isWord(r):
			r = ' '
		case last != ' ' && isWide(r) != wide:
			b.WriteByte(' ')
		}
		r = unicode.ToLower(r)
		wide = isWide(r)
		if r != last {
			b.WriteRune(r)
			last = r
		}
	}
	b.WriteByte(' ')
	return b.String()
}
