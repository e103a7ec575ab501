package local

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"intenthint/internal/text"
)

const (
	// maxInstruction bounds an instruction that comes with its content, in
	// characters.
	maxInstruction = 80
	// minContent is the minimum length of content after a colon, in bytes.
	// Anything shorter is a name or a term that belongs to the request.
	minContent = 30
	// maxRuledOut bounds the messages whose clauses are analysed, in bytes. In a
	// longer message a prohibition is a condition, or part of the content.
	maxRuledOut = headRunes + tailRunes
	// maxNoun bounds a clause that contrasts one thing with another, in words:
	// "not the weather". A longer clause may contain a verb.
	maxNoun = 5

	sentenceMarks = ".!?\n。！？।؟"
)

// ownWords returns the part of a message that states the request: without
// quotations, without content to work on, and without clauses that rule
// something out; "" if that is the whole message. decides reports whether this
// part takes precedence even if the whole message gives a surer verdict.
func ownWords(message string) (own string, decides bool) {
	m := marksOf(message)
	if own = withoutQuotes(message); own == "" {
		own = instruction(message, m)
		decides = own != ""
	}
	wanted := own
	if own == "" {
		wanted = message
	}
	if m&markNegates != 0 {
		if rest := withoutRuledOut(wanted); rest != "" {
			return rest, true
		}
	}
	return own, decides
}

// brings reports whether a message contains the text that it is about, as
// content or as a quotation.
func brings(message string) bool {
	return withoutQuotes(message) != "" || instruction(message, marksOf(message)) != ""
}

// instruction returns the part of a message that says what to do with the rest of it;
// "" if no part does. It asks for work on a text and ends with a colon, or
// points to text below or above. The classifier does not see paragraphs
// (contract §5).
func instruction(message string, m mark) string {
	s := strings.TrimSpace(message)
	if before, after := cutColon(s); len(after) >= minContent && worksOnText(before) {
		return before
	}
	if m&markPoints == 0 {
		return ""
	}
	if before := cutBelow(s); len(s)-len(before) >= minQuote && worksOnText(before) {
		return before
	}
	from := max(0, len(s)-maxInstruction*utf8.UTFMax)
	i := from + strings.LastIndexAny(strings.TrimRight(s[from:], sentenceMarks+" "), sentenceMarks+"^")
	if i < max(from, minQuote) {
		return ""
	}
	mark, size := utf8.DecodeRuneInString(s[i:])
	last := strings.TrimSpace(s[i+size:])
	if mark == '^' || pointsAbove.in(clauseText(last)) && worksOnText(last) {
		return last
	}
	return ""
}

// cutColon cuts a text at its first colon that is not part of a time, an
// address or an identifier in code.
func cutColon(s string) (before, after string) {
	for i, r := range s[:min(len(s), maxInstruction*utf8.UTFMax)] {
		if r == '：' || r == ':' && (i+1 == len(s) || s[i+1] == ' ' || s[i+1] == '\n') {
			return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+utf8.RuneLen(r):])
		}
	}
	return "", ""
}

// cutBelow returns the beginning of a text up to the word by which it has both pointed
// to a text below and said what to do with it; the whole text if it never does.
func cutBelow(s string) string {
	head := text.Cut(s, maxInstruction)
	if i := strings.IndexAny(head, sentenceMarks); i >= 0 {
		head = head[:i]
	}
	wordEnd := func(at int) int {
		if n := strings.IndexByte(head[at:], ' '); n >= 0 {
			return at + n
		}
		return len(head)
	}
	n := sort.Search(len(head)+1, func(n int) bool { // a longer beginning says no less
		f := clauseText(head[:wordEnd(min(n, len(head)))])
		return pointsBelow.in(f) && textWork.in(f)
	})
	if n > len(head) {
		return s
	}
	return head[:wordEnd(n)]
}

// worksOnText reports whether a text is an instruction to work on another text.
func worksOnText(s string) bool {
	f := clauseText(s)
	return utf8.RuneCountInString(s) <= maxInstruction && textWork.in(f) && !states(f)
}

// clause is a part of a message between two punctuation marks.
type clause struct {
	start, end int    // in the message, in bytes
	text       string // in the form that is compared, without leading courtesies
	asks       bool   // ends with a question mark
}

// withoutRuledOut returns a message without the clauses that say what is not wanted,
// if another clause says what is wanted; "" if there are none or it is unclear.
func withoutRuledOut(message string) string {
	if len(message) > maxRuledOut {
		return ""
	}
	list := clausesOf(message)
	var out strings.Builder
	from, wanted, cut := 0, -1, false
	for i := range list {
		c, next := &list[i], clause{}
		if i+1 < len(list) {
			next = list[i+1]
		}
		if !c.rulesOut(&next) {
			wanted = i
			continue
		}
		if next.text == "" && wanted >= 0 { // what is wanted comes before
			next = list[wanted]
		}
		if states(next.text) && !next.asks && !c.contrasts(&next) {
			return ""
		}
		out.WriteString(message[from:c.start])
		from, cut = c.end, true
	}
	if !cut || wanted < 0 {
		return ""
	}
	out.WriteString(message[from:])
	return strings.Trim(out.String(), " \n\t,;:，、；：،-–—")
}

// rulesOut reports whether a clause says what is not wanted, before the next one says
// what is wanted.
func (c *clause) rulesOut(next *clause) bool {
	if spares.in(c.text) || c.asks {
		return false
	}
	return forbids.begins(c.text) || forbidsAfter.ends(c.text) || c.forbidsVerb() || c.contrasts(next) ||
		onlyThen.begins(next.text) && (strings.HasSuffix(c.text, "ma ") || strings.HasSuffix(c.text, "me "))
}

// forbidsVerb reports whether a clause begins with a negation and a verb in a form
// that forbids.
func (c *clause) forbidsVerb() bool {
	words := strings.Fields(c.text)
	if len(words) < 2 {
		return false
	}
	verb, last := words[1], words[len(words)-1]
	ends := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(verb, e) })
	}
	switch words[0] {
	case "ne":
		return slices.Contains(words, "pas")
	case "nicht", "kein", "keine", "keinen": // … übersetzen; a participle says how it is
		return strings.HasSuffix(last, "en") && !strings.HasPrefix(last, "ge")
	case "non":
		return ends("re", "rlo", "rla", "rmi")
	case "не":
		return ends("й", "и", "ь", "йте", "ите", "ьте") && !ends("ли")
	case "لا":
		return strings.HasPrefix(verb, "ت")
	}
	return slices.Contains(words, "मत") || slices.Contains(words, "mat")
}

// contrasts reports whether a clause denies something and the next clause names
// the alternative.
func (c *clause) contrasts(next *clause) bool {
	words := strings.Fields(c.text)
	switch {
	case next.text == "":
		return false
	case against.begins(next.text):
		return denies.in(c.text)
	case !denies.begins(c.text):
		return deniesAfter.ends(c.text) && !next.asks && len(words) <= maxNoun
	case softlyAgainst.begins(next.text), politely.ends(c.text):
		return true
	}
	return len(words) > 2 && len(words) <= maxNoun && determiner.begins(" "+words[1]+" ") && determiner.begins(next.text)
}

// states reports whether a clause says how something is, rather than what is wanted.
func states(c string) bool { return statement.begins(c) && !want.begins(c) }

// clausesOf cuts a message at its punctuation and at contrasting words. Clauses
// without a word are left out.
func clausesOf(message string) []clause {
	var list []clause
	from := 0
	end := func(at, next int, asks bool) {
		if text := clauseText(message[from:at]); text != "" {
			list = append(list, clause{from, next, text, asks})
		}
		from = next
	}
	startsWith := func(rest string) func(string) bool {
		return func(word string) bool { return len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) }
	}
	for i := 0; i < len(message); {
		r, size := utf8.DecodeRuneInString(message[i:])
		word := startsWith(message[i:])
		switch {
		case strings.ContainsRune("，、；：！？。،؛؟।—–\n", r),
			strings.ContainsRune(",;:.!?", r) && (i+1 == len(message) || message[i+1] == ' ' || message[i+1] == '\n'):
			end(i, i+size, r == '?' || r == '？' || r == '؟')
		case r != ' ' && r < utf8.RuneSelf: // no word below begins like this
		case slices.ContainsFunc(splitBefore, word):
			end(i, i, false)
		default:
			if k := slices.IndexFunc(splitAfter, word); k >= 0 {
				size = len(splitAfter[k])
				end(i+size, i+size, false)
			}
		}
		i += size
	}
	end(len(message), len(message), false)
	return list
}

// clauseText returns a text in the form that is compared: with a space before
// and after each word, without leading courtesies; "" without a word.
func clauseText(s string) string {
	f := spaced(s)
	for n := courtesy.prefix(f); n > 0 && n < len(f)-1; n = courtesy.prefix(f) {
		f = " " + strings.TrimPrefix(f[n:], " ")
	}
	return f
}

func spaced(s string) string {
	var t reading
	t.reset(s)
	var b strings.Builder
	for _, tok := range t.tokens {
		b.WriteString(" " + string(t.runes[tok.start:tok.end]))
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	return b.String()
}

// mark tells which words a message contains; a message without them is read as
// a whole.
type mark uint8

const (
	markNegates mark = 1 << iota // a word of [forbids], [denies] and the like
	markPoints                   // one of [pointsBelow] or [pointsAbove], or "^"
)

// marksOf looks for the words of [marks] at both ends of a message. Most
// messages have none.
func marksOf(message string) mark {
	head, tail := window(message)
	return marksIn(head) | marksIn(tail)
}

func marksIn(s string) (m mark) {
	h, before := uint64(hashSeed), rune(0)
	for _, r := range s {
		switch f := compared(r); {
		case r == '^':
			m |= markPoints
		case f == runeNothing:
		case f == runeSpace:
			m |= marks[h]
			h = hashSeed
		case kindOf(f) == tokenHan:
			m |= marks[hashStep(hashSeed, f)] | marks[hashStep(hashStep(hashSeed, before), f)]
			before = f
		default:
			h = hashStep(h, f)
		}
	}
	return m | marks[h]
}

// wordings are phrases to find in the text of a clause: with a space where a
// word must begin or end. Phrases of scripts without spaces match anywhere.
type wordings []string

func wordingsOf(list string) wordings {
	var out wordings
	for phrase := range strings.SplitSeq(list, ",") {
		s := spaced(phrase)
		if first, _ := utf8.DecodeRuneInString(s[1:]); kindOf(first) == tokenHan {
			s = s[1:]
		}
		if last, _ := utf8.DecodeLastRuneInString(s[:len(s)-1]); kindOf(last) == tokenHan {
			s = s[:len(s)-1]
		}
		out = append(out, s)
	}
	return out
}

// prefix returns the length in bytes of the longest phrase at the beginning of
// a clause, without the space after it.
func (w wordings) prefix(c string) int {
	n, inner := 0, strings.TrimPrefix(c, " ")
	for _, p := range w {
		if strings.HasPrefix(c, p) || strings.HasPrefix(inner, p) {
			n = max(n, len(strings.TrimSpace(p))+1)
		}
	}
	return n
}

func (w wordings) begins(c string) bool { return w.prefix(c) > 0 }

func (w wordings) ends(c string) bool {
	return slices.ContainsFunc(w, func(p string) bool {
		return strings.HasSuffix(c, p) || strings.HasSuffix(strings.TrimSuffix(c, " "), p)
	})
}

func (w wordings) in(c string) bool {
	return slices.ContainsFunc(w, func(p string) bool { return strings.Contains(c, p) })
}
