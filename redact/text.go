package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A mark replaces redacted text.
type mark uint8

const (
	userName mark = iota
	email
	phone
	apiKey
	card
	privateKey
)

var marks = [...]string{
	userName:   "[REDACTED]",
	email:      "[EMAIL]",
	phone:      "[PHONE]",
	apiKey:     "[API_KEY]",
	card:       "[CARD]",
	privateKey: "[PRIVATE_KEY]",
}

// markPattern finds existing marks in a text.
var markPattern = regexp.MustCompile(`\[(?:REDACTED|EMAIL|PHONE|API_KEY|CARD|PRIVATE_KEY)\]`)

// A span is a part of a text and its replacement.
type span struct {
	start, end int
	mark       mark
}

// maxRounds bounds how often the rules are applied to one text. A mark changes
// the surroundings of other text, so the rules are applied to their own output
// until they find nothing more. Texts of people and programs take two rounds. A
// text that takes more than maxRounds is built to hide one thing behind
// another, and is replaced as a whole.
const maxRounds = 8

// work is the working memory for one text, reused for the next.
type work struct {
	src   []byte    // the text, when it came as a string
	out   [2][]byte // what a round wrote
	t     []byte    // the folded copy, between two line ends
	low   []byte    // t in lower case, to check whether a rule is needed
	spans []span    // matches, as positions in t
}

// keptBytes bounds the copy that is kept for the next text.
const keptBytes = 1 << 20

var pool = sync.Pool{New: func() any { return new(work) }}

func (w *work) release() {
	if max(cap(w.src), cap(w.out[0]), cap(w.out[1]), cap(w.t), cap(w.low)) <= keptBytes {
		pool.Put(w)
	}
}

// Text returns s with personal data and secrets replaced by marks (contract
// §12). It returns s itself if there are none. It is idempotent; its time is
// linear in the length of s.
func Text(s string) string {
	if s == "" {
		return s
	}
	w := pool.Get().(*work)
	defer w.release()
	w.src = append(w.src[:0], s...)
	out, changed := w.redact(w.src, false, none)
	if !changed {
		return s
	}
	return string(out)
}

// headRoom is how many bytes more than it returns [Head] reads.
const headRoom = 64 << 10

// Head returns the first n characters of Text(s). It redacts before it cuts, as
// the beginning of a secret may not be recognizable. It reads only a part of s.
func Head(s string, n int) string {
	if room := utf8.UTFMax*n + headRoom; len(s) > room {
		for !utf8.RuneStart(s[room]) && room > 0 {
			room--
		}
		s = s[:room]
	}
	s = Text(s)
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// Ends returns a text whose first and last n characters are those of Text(s). It
// reads only a part of s, and what it leaves out is no more than the middle.
func Ends(s string, n int) string {
	room := utf8.UTFMax*n + headRoom
	if len(s) <= 2*room {
		return Text(s)
	}
	head, tail := room, len(s)-room
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return Text(s[:head]) + "\n" + Text(s[tail:])
}

// redact returns src with marks, and whether it added any. With escapes, src is
// the inside of a JSON string, the value of a field whose name is of the given
// kind. The result is valid until the next call.
func (w *work) redact(src []byte, escapes bool, field kind) ([]byte, bool) {
	for round := range maxRounds {
		if !w.find(src, escapes, field) {
			return src, round > 0
		}
		out := &w.out[round%2]
		*out = w.render((*out)[:0], src)
		src = *out
	}
	return []byte(marks[userName]), true
}

// find puts the matches in src into w.spans, in order, and reports whether
// there are any.
func (w *work) find(src []byte, escapes bool, field kind) bool {
	// The line ends around the copy give every pattern a character on both sides.
	t, same := appendFolded(append(w.t[:0], '\n'), src, escapes)
	w.t = append(t, '\n')
	w.low = appendLower(w.low[:0], w.t)
	w.spans = w.spans[:0]
	for m, ok := find(markPattern, w.t, 0); ok; m, ok = find(markPattern, w.t, m.at[1]) {
		clear(w.t[m.at[0]:m.at[1]])
	}
	if inside := w.t[1 : len(w.t)-1]; field != none && isSecret(inside, field, true) {
		w.add(1, len(w.t)-1, apiKey)
	}
	w.privateKeys()
	for start := 0; start < len(w.t)-1; {
		end := start + 2 + bytes.IndexByte(w.t[start+1:], '\n')
		for i := range rules {
			w.apply(&rules[i], start, end)
		}
		start = end - 1
	}
	if len(w.spans) == 0 {
		return false
	}
	w.merge()
	if !same {
		unfold(w.spans, src, escapes)
	}
	return true
}

// appendLower appends t in lower case.
func appendLower(dst, t []byte) []byte {
	for _, b := range t {
		if 'A' <= b && b <= 'Z' {
			b |= 0x20
		}
		dst = append(dst, b)
	}
	return dst
}

// longestRejected is the length of a rejected match up to which a rule searches
// inside it, so that time stays linear.
const longestRejected = 256

// apply records what a rule finds in the line t[start:end], which begins and ends
// with an end of line.
func (w *work) apply(r *rule, start, end int) {
	line, low := w.t[start:end], w.low[start:end]
	for at := r.near(line, low, 0); at >= 0 && at < len(line); at = r.near(line, low, at) {
		m, ok := find(r.pattern, line, at)
		if !ok {
			at++
			continue
		}
		from, to := m.last()
		length := to - from
		if r.check != nil {
			from, to = r.check(m)
		}
		switch {
		case from < to:
			w.add(start+from, start+to, r.mark)
			at = to
		case length > longestRejected:
			at += length
		default:
			at++
		}
	}
}

// add records that t[start:end] is replaced, and hides it from other rules.
func (w *work) add(start, end int, m mark) {
	w.spans = append(w.spans, span{start, end, m})
	clear(w.t[start:end])
}

// merge sorts the spans and drops those inside another one.
func (w *work) merge() {
	slices.SortFunc(w.spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	kept := w.spans[:0]
	for _, s := range w.spans {
		if len(kept) > 0 && s.start < kept[len(kept)-1].end {
			kept[len(kept)-1].end = max(kept[len(kept)-1].end, s.end)
			continue
		}
		kept = append(kept, s)
	}
	for i := range kept { // without the line end before the text
		kept[i].start--
		kept[i].end--
	}
	w.spans = kept
}

// render appends src with a mark for each span.
func (w *work) render(dst, src []byte) []byte {
	at := 0
	for _, s := range w.spans {
		dst = append(dst, src[at:s.start]...)
		dst = append(dst, marks[s.mark]...)
		at = s.end
	}
	return append(dst, src[at:]...)
}

// Marked reports whether a text contains one of the redaction marks. People may
// also write one.
func Marked(text string) bool {
	return strings.Contains(text, "[") && slices.ContainsFunc(marks[:], func(mark string) bool { return strings.Contains(text, mark) })
}
