package conversation

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"intenthint/internal/text"
)

// Message is what a prompt, or a user's message in a history, says (contract §5).
// Its texts are on one line each, and not cut.
type Message struct {
	// Words are the person's own. Of messages that were queued they are the last
	// that is more than a courtesy.
	Words string
	// Earlier are the queued messages before that one, oldest first.
	Earlier []string
	// Quoted is what the person quotes or forwards, in the order of the prompt.
	// It is context: it never decides against the words. A message that is
	// nothing but a forwarded text has that text as its words.
	Quoted []string
	// Removed are the frames that were found, in the order of their removal. Only
	// [Explain] fills it.
	Removed []Removal
}

// Removal is a frame that was taken away.
type Removal struct {
	Frame string `json:"frame"`
	Text  string `json:"text"`
}

// maxRounds bounds how often a text is read for frames that a removal uncovers.
// Of what gateways and plugins write, three rounds are the most.
const maxRounds = 8

// Read takes the words out of a prompt. Its time is linear in the prompt, and
// the words of words are these words.
func Read(prompt string) Message { return read(prompt, false) }

// Explain is [Read] that also tells what was removed.
func Explain(prompt string) Message { return read(prompt, true) }

func read(prompt string, explain bool) Message {
	r := reading{explain: explain}
	var m Message
	m.Earlier, m.Words, _ = r.message(prompt)
	if m.Words == "" && r.forwarded {
		m.Words, r.quoted = text.Fold(strings.Join(r.quoted, "\n")), nil
		if again := (&reading{}); again.words(m.Words) != m.Words {
			m.Words = "" // a forwarded text that is itself a frame
		}
	}
	for _, quoted := range r.quoted {
		if quoted = text.Fold(quoted); quoted != "" {
			m.Quoted = append(m.Quoted, quoted)
		}
	}
	m.Removed = r.removed
	return m
}

// message returns the words of a prompt, the queued messages before them, and the
// words with their lines, in which frames may be left that show on one line alone.
func (r *reading) message(prompt string) (earlier []string, words, lines string) {
	lines = r.settle(strings.TrimLeft(strings.ToValidUTF8(prompt, "\uFFFD"), invisible))
	if queued(lines) != nil {
		return r.last(queued(lines))
	}
	if words = r.fold(lines); queued(words) != nil {
		return r.last(queued(words))
	}
	return nil, words, lines
}

// invisible are the characters without a shape that may stand at the beginning of a
// prompt: a byte order mark, white space of no width, marks of direction.
const invisible = "\uFEFF\u200B\u200E\u200F\u2060 \t\r\n"

// reading is one reading of a prompt. A nil reading notes nothing.
type reading struct {
	explain   bool
	removed   []Removal
	quoted    []string
	forwarded bool
	senders   map[string]bool // whom its context blocks name
	// marks holds where a mark comes next, as the distance from the end of the
	// text, or -1. Many openings cost no more than one.
	marks map[string]int
}

// words removes frames until there are none: first by lines, as gateways and
// plugins write, then on one line, as earlier readings left a text.
func (r *reading) words(s string) string { return r.fold(r.settle(s)) }

// settle removes frames by lines.
func (r *reading) settle(s string) string {
	for range maxRounds {
		next := r.round(s)
		if next == s {
			break
		}
		s = next
	}
	return s
}

// fold puts a text on one line and removes the frames that are left. A text that
// still uncovers frames after [maxRounds] was made to do so, and has no words.
func (r *reading) fold(s string) string {
	s = text.Fold(s)
	for range maxRounds {
		next := text.Fold(r.round(s))
		if next == s {
			return s
		}
		s = next
	}
	return ""
}

// round removes the frames that are in sight.
func (r *reading) round(s string) string {
	r.marks = nil
	s = operator.Load().cut(s, r)
	s = strip(s, false, r)
	s = r.lines(s)
	r.marks = nil
	s = r.leading(s)
	return r.trailing(s)
}

// lines removes the frames that begin a line.
func (r *reading) lines(s string) string {
	if !holdsLineFrame(s) {
		return s
	}
	var out strings.Builder
	for s != "" {
		begin := skip(s, 0, space)
		n, keep := r.match(lineFrames, s[begin:])
		if n > 0 {
			out.WriteString(s[:begin])
			out.WriteByte('\n')
			out.WriteString(keep)
			if keep != "" {
				out.WriteByte('\n')
			}
			s = s[begin+n:]
			continue
		}
		end := strings.IndexByte(s[begin:], '\n')
		if end < 0 {
			break
		}
		out.WriteString(s[:begin+end+1])
		s = s[begin+end+1:]
	}
	out.WriteString(s)
	return r.quotes(out.String())
}

// leading removes the frames at the beginning, one after the other.
func (r *reading) leading(s string) string {
	for {
		begin := skip(s, 0, space)
		n, keep := r.match(leadingFrames, s[begin:])
		if n == 0 {
			return s
		}
		s = keep + s[begin+n:]
	}
}

// trailing removes the frames at the end, one after the other.
func (r *reading) trailing(s string) string {
	for {
		trimmed := strings.TrimRightFunc(s, unicode.IsSpace)
		n := 0
		for i := range trailingFrames {
			f := &trailingFrames[i]
			if n, _ = f.match(r, trimmed); n > 0 {
				r.note(f.name, trimmed[len(trimmed)-n:])
				break
			}
		}
		if n == 0 {
			return s
		}
		s = trimmed[:len(trimmed)-n]
	}
}

// match returns how much of the beginning of s a frame takes, and what of that
// is kept.
func (r *reading) match(frames []frame, s string) (n int, keep string) {
	for i := range frames {
		f := &frames[i]
		if !strings.HasPrefix(s, f.begin) {
			continue
		}
		if n, keep = f.match(r, s); n > 0 {
			r.note(f.name, s[:n])
			return n, keep
		}
	}
	return 0, ""
}

// index is strings.Index for the marks that end frames. It is asked for the ends
// of one text, each shorter than the one before.
func (r *reading) index(s, mark string) int {
	fromEnd, known := r.marks[mark]
	if !known || fromEnd > len(s) {
		fromEnd = -1
		if i := strings.Index(s, mark); i >= 0 {
			fromEnd = len(s) - i
		}
		if r.marks == nil {
			r.marks = map[string]int{}
		}
		r.marks[mark] = fromEnd
	}
	if fromEnd < 0 {
		return -1
	}
	return len(s) - fromEnd
}

// quotedLine matches a line that quotes a message: ">" and a space, a letter, a mark or
// another ">". ">=" and ">>" alone are code.
var quotedLine = regexp.MustCompile(`^>(?:>* |>*[\pL\pP]|$)`)

// quote notes a text that the person quotes.
func (r *reading) quote(s string) { r.quoted = append(r.quoted, s) }

// quotes removes lines that quote a message ("> …") where there are words besides.
func (r *reading) quotes(s string) string {
	if !strings.HasPrefix(s, ">") && !strings.Contains(s, "\n>") {
		return s
	}
	var words, quoted strings.Builder
	inFence := false
	for line := range strings.Lines(s) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), codeFence) {
			inFence = !inFence
		}
		if !inFence && quotedLine.MatchString(line) {
			quoted.WriteString(strings.TrimLeft(line, "> "))
		} else {
			words.WriteString(line)
		}
	}
	if strings.TrimSpace(words.String()) == "" || strings.TrimSpace(quoted.String()) == "" {
		return s
	}
	r.note("quoted lines", quoted.String())
	r.quote(quoted.String())
	return words.String()
}

// last returns the message that queued ones come down to, on one line and with its
// lines: the last that is more than a courtesy, or the last of all.
func (r *reading) last(items []string) (earlier []string, words, lines string) {
	r.note("queue", queueTitle)
	var said, raw []string
	for _, item := range items {
		settled := r.settle(item)
		if item = r.fold(settled); item != "" && queued(item) == nil {
			said, raw = append(said, item), append(raw, settled)
		}
	}
	if len(said) == 0 {
		return nil, "", ""
	}
	at := len(said) - 1
	for at > 0 && isCourtesy(said[at]) {
		at--
	}
	if isCourtesy(said[at]) {
		at = len(said) - 1
	}
	return said[:at], said[at], raw[at]
}

// letters counts the letters and digits of s.
func letters(s string) int {
	n := 0
	for _, c := range s {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			n++
		}
	}
	return n
}

// isCourtesy reports whether a message is only thanks, assent or a greeting.
func isCourtesy(s string) bool {
	s = strings.ToLower(s)
	if utf8.RuneCountInString(s) > maxCourtesyChars {
		return false
	}
	for _, said := range courtesies {
		s = strings.ReplaceAll(s, said, " ")
	}
	return letters(s) == 0
}
