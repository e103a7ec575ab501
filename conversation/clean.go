package conversation

import (
	"bytes"
	"encoding/json"
	"strings"

	"intenthint/internal/text"
	"intenthint/payload"
)

// clean returns the text of a message on one line, in valid UTF-8: of a user, the
// words ([Read]); of the assistant, the text without thinking and without the
// blocks that plugins and the gateway put there.
//
// Of a block that is never closed only the tag is removed: people write about
// such tags. An assistant's text may have been cut off in a block, so there the
// block is removed to the end of the text if its tag begins a line.
func clean(message, role string) string {
	if role == payload.RoleAssistant {
		return text.Fold(strip(message, true, nil))
	}
	return Read(message).Words
}

// maxTagBytes bounds a block's tag, with its attributes. The longest tag that a
// plugin of the table writes has 70.
const maxTagBytes = 256

// ctxMark ends the heading of OpenClaw's own blocks since 2026.9.
const ctxMark = "⟦openclaw:ctx⟧"

// untrusted is in the heading of such a block before 2026.9: "Sender (untrusted
// metadata):".
const untrusted = " (untrusted"

// headings are those that may also stand within a line.
var headings = [...]string{
	"Conversation info (untrusted metadata):",
	"Sender (untrusted metadata):",
	"Conversation info: " + ctxMark,
	"Sender: " + ctxMark,
}

// maxHeadingBytes bounds a heading: a channel names its own blocks.
const maxHeadingBytes = 160

// strip removes blocks, headers and headed JSON in one pass. It appends the
// remaining text to out, and looks for tags and headings at the end of out.
// This also finds tags that a removal joins. mayBeCut reports whether the text may
// end within a block. What is removed is noted in r, if there is one.
func strip(text string, mayBeCut bool, r *reading) string {
	if strings.IndexByte(text, '<') < 0 && !strings.Contains(text, "ntrusted ") && !strings.Contains(text, untrusted) && !strings.Contains(text, ctxMark) {
		return text
	}
	s := stripper{out: make([]byte, 0, len(text)), names: map[string]*block{}, reading: r, operator: operator.Load()}
	for i := 0; i < len(text); {
		end := nextEnd(text, i)
		if end < 0 {
			s.out = append(s.out, text[i:]...)
			break
		}
		s.out = append(s.out, text[i:end+1]...)
		i = end + 1
		switch {
		case text[end] == '`':
			if code := s.code(text, end); code > i {
				s.out = append(s.out, text[i:code]...)
				i = code
			}
		case text[end] == '>':
			s.tag()
		case bytes.HasSuffix(s.out, []byte(payload.UntrustedHeader)):
			i = s.header(text, i)
		default:
			i = s.headed(text, i)
		}
	}
	return string(s.finish(mayBeCut))
}

// nextEnd returns the index, from i on, of the next byte with which a tag, the
// header or a heading can end or code begins, or -1.
func nextEnd(text string, i int) int {
	for ; i < len(text); i++ {
		if c := text[i]; c == '>' || c == ':' || c == '`' || c == ctxMark[len(ctxMark)-1] {
			return i
		}
	}
	return -1
}

// code returns where the code ends that begins at text[i:], a span on its line or a
// fence; i if none does. Tags in it are what a person writes about. In a block, and
// where a gateway's heading is in it, it is no code.
func (s *stripper) code(text string, i int) int {
	if len(s.open) > 0 {
		return i
	}
	marks := skip(text, i, "`") - i
	begin := i + marks
	var n int
	if marks >= len(codeFence) {
		n = s.fenceEnd(text, begin)
	} else if n = strings.IndexAny(text[begin:min(len(text), begin+maxSpanBytes)], "`\n"); n >= 0 && text[begin+n] == '\n' {
		n = -1
	}
	if n < 0 {
		return begin
	}
	inner := text[begin : begin+n]
	if strings.Contains(inner, ctxMark) || strings.Contains(inner, untrusted) || strings.Contains(inner, payload.UntrustedHeader) {
		return begin
	}
	return skip(text, begin+n, "`")
}

// fenceEnd returns how far the fence's end is, -1 without one.
func (s *stripper) fenceEnd(text string, begin int) int {
	if s.unfenced {
		return -1
	}
	n := strings.Index(text[begin:], codeFence)
	s.unfenced = n < 0
	return n
}

// maxSpanBytes bounds a span of code on a line.
const maxSpanBytes = 400

type stripper struct {
	out        []byte
	open       []opening
	names      map[string]*block
	incomplete int  // where JSON that does not end was given up
	unfenced   bool // no code fence follows
	reading    *reading
	operator   *Frames
}

// block is what is known of the blocks of one name.
type block struct {
	name     string
	pending  int // openings in open
	closings int // closing tags that closed an opening
	closedAt int // where out ended at the last of these
}

// opening is an opening tag that is not closed yet.
type opening struct {
	at, end  int // of its tag in out
	block    *block
	closings int // of its name at that time
}

// tag handles the tag that out may end in.
func (s *stripper) tag() {
	from := max(0, len(s.out)-maxTagBytes)
	lt := bytes.LastIndexByte(s.out[from:], '<')
	if lt < 0 {
		return
	}
	at := from + lt
	word := s.out[at+1 : len(s.out)-1]
	closing := len(word) > 0 && word[0] == '/'
	if closing {
		word = word[1:]
	}
	name, ok := s.blockName(word)
	if !ok {
		return
	}
	b := s.names[name]
	if b == nil {
		b = &block{name: name}
		s.names[name] = b
	}
	switch {
	case !closing:
		s.open = append(s.open, opening{at: at, end: len(s.out), block: b, closings: b.closings})
		b.pending++
	case b.pending == 0:
		s.remove(at, "tag", name)
	default:
		for {
			last := s.open[len(s.open)-1]
			s.open = s.open[:len(s.open)-1]
			last.block.pending--
			if last.block == b {
				s.remove(last.at, "block", name)
				break
			}
		}
		b.closings++
		b.closedAt = len(s.out)
	}
}

// remove drops the end of out.
func (s *stripper) remove(at int, what, name string) {
	s.reading.note(what+" <"+name+">", string(s.out[at:]))
	s.out = s.out[:at]
}

// blockName returns the name of a tag of the table or of the operator, in lower
// case. Of words behind the name there is an attribute: people also write "<think
// about it>".
func (s *stripper) blockName(word []byte) (string, bool) {
	if i := bytes.IndexAny(word, space); i >= 0 {
		if bytes.IndexByte(word[i:], '=') < 0 {
			return "", false
		}
		word = word[:i]
	}
	if len(word) < 2 || len(word) > maxNameBytes {
		return "", false
	}
	name := strings.ToLower(string(word))
	return name, isBlock(name) || s.operator.holdsTag(name)
}

// header removes the line in front of untrusted context, and the paragraph below
// it. A block in tags below it is removed as such.
func (s *stripper) header(text string, i int) int {
	at := len(s.out) - len(payload.UntrustedHeader)
	wholeLine := beginsLine(s.out[:at])
	s.remove(at, "untrusted context", "header")
	next := skip(text, i, " \t\r")
	if !wholeLine || next == len(text) || text[next] != '\n' {
		return i
	}
	if begin := skip(text, next, space); begin == len(text) || text[begin] == '<' {
		return i
	}
	end := i + paragraphEnd(text[i:])
	s.reading.note("untrusted context", text[i:end])
	return end
}

// headed removes the JSON at text[i:] and its heading when out ends in one, and
// returns where to continue. Of JSON that does not end, only the heading is
// removed; headings in it are text. Below a gateway's mark there may be lines
// instead, up to a blank one.
func (s *stripper) headed(text string, i int) int {
	if i < s.incomplete {
		return i
	}
	at := s.heading()
	if at < 0 {
		return i
	}
	heading := string(s.out[at:])
	end, complete := jsonBlockEnd(text, i)
	if end > i {
		s.out = append(s.out[:at], '\n')
		s.reading.context(heading, text[i:end])
	}
	if !complete {
		s.incomplete = end
		return i
	}
	if end == i && listsMessages(heading) && beginsLine(s.out[:at]) {
		if next := skip(text, i, " \t\r"); next < len(text) && text[next] == '\n' {
			end = i + paragraphEnd(text[i:])
			if heading == "Context: "+ctxMark {
				end = len(text)
			}
			s.out = s.out[:at]
			s.reading.context(heading, text[i:end])
		}
	}
	return end
}

func (r *reading) note(frame, removed string) {
	if r != nil && r.explain {
		r.removed = append(r.removed, Removal{Frame: frame, Text: removed})
	}
}

// context notes a headed block, and what it quotes.
func (r *reading) context(heading, body string) {
	if r == nil {
		return
	}
	r.note("context block", heading+body)
	r.sender(body)
	switch {
	case strings.HasPrefix(heading, "Forwarded"), strings.HasPrefix(heading, "Reply"), strings.HasPrefix(heading, "Replied"),
		strings.HasPrefix(heading, "Thread starter"):
		r.quoted = append(r.quoted, bodies(body)...)
	}
}

// bodies returns the texts of the messages in a block's JSON.
func bodies(block string) []string {
	begin, end := strings.IndexAny(block, "{["), strings.LastIndexAny(block, "}]")
	if begin < 0 || end < begin {
		return nil
	}
	type message struct {
		Body string `json:"body"`
	}
	raw := []byte(block[begin : end+1])
	var one message
	if json.Unmarshal(raw, &one) == nil {
		return []string{one.Body}
	}
	var several []message
	if json.Unmarshal(raw, &several) != nil {
		return nil
	}
	out := make([]string, 0, len(several))
	for _, m := range several {
		out = append(out, m.Body)
	}
	return out
}

// listsMessages reports whether lines may stand below a heading in place of JSON.
func listsMessages(heading string) bool {
	return strings.HasSuffix(heading, ctxMark) || strings.Contains(heading, untrusted+", chronological")
}

// heading returns where the heading begins that out ends in, or -1.
func (s *stripper) heading() int {
	tail := s.out[max(0, len(s.out)-maxHeadingBytes):]
	marked := bytes.HasSuffix(tail, []byte(": "+ctxMark))
	if !marked && !bytes.HasSuffix(tail, []byte("):")) {
		return -1
	}
	for _, heading := range headings {
		if bytes.HasSuffix(tail, []byte(heading)) {
			return len(s.out) - len(heading)
		}
	}
	line := tail[bytes.LastIndexByte(tail, '\n')+1:]
	if len(line) == maxHeadingBytes {
		return -1 // its beginning is not in sight
	}
	label := line[:len(line)-len(":")]
	if marked {
		label = line[:len(line)-len(": "+ctxMark)]
	} else if at := bytes.LastIndex(label, []byte(untrusted)); at < 0 {
		return -1
	} else {
		label = label[:at]
	}
	begin := 0
	for _, end := range [...]string{". ", "? ", "! ", ", ", ": ", "] ", ">"} {
		if at := bytes.LastIndex(label, []byte(end)); at >= 0 {
			begin = max(begin, at+len(end))
		}
	}
	if len(bytes.TrimSpace(label[begin:])) == 0 {
		return -1
	}
	return len(s.out) - len(line) + begin
}

// finish removes blocks that were never closed. Each is replaced by a space, so
// that no new tag can form.
func (s *stripper) finish(mayBeCut bool) []byte {
	if len(s.open) == 0 {
		return s.out
	}
	kept := make([]byte, 0, len(s.out)+len(s.open))
	from := 0
	for _, o := range s.open {
		if o.at < from {
			continue
		}
		kept = append(append(kept, s.out[from:o.at]...), ' ')
		switch {
		case mayBeCut && o.block.closings > o.closings:
			// Opened twice and closed once: it ends where the other block was closed.
			from = max(o.at, min(o.block.closedAt, len(s.out)))
		case mayBeCut && beginsLine(s.out[:o.at]):
			return kept
		default:
			from = min(o.end, len(s.out))
			s.reading.note("tag <"+o.block.name+">", string(s.out[o.at:from]))
		}
	}
	return append(kept, s.out[from:]...)
}

func beginsLine(before []byte) bool {
	before = bytes.TrimRight(before, " \t\r")
	return len(before) == 0 || before[len(before)-1] == '\n'
}

const (
	codeFence = "```"
	space     = " \t\r\n"
)

// jsonBlockEnd returns the end of the JSON object at text[i:], bare or in a code
// fence; i when no object begins there. It reports whether the object is complete:
// a fence completes it, unless a blank line is before the fence.
func jsonBlockEnd(text string, i int) (end int, complete bool) {
	at := skip(text, i, space)
	fenced := strings.HasPrefix(text[at:], codeFence)
	if fenced {
		at += len(codeFence)
		at = skip(text, at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
		at = skip(text, at, space)
	}
	complete = true
	switch {
	case at < len(text) && (text[at] == '{' || fenced && text[at] == '['):
		at, complete = jsonEnd(text, at)
	case !fenced || !strings.HasPrefix(text[at:], codeFence):
		return i, true
	}
	after := skip(text, at, space)
	if fenced && strings.HasPrefix(text[after:], codeFence) && (complete || !blankLine(text[at:after])) {
		return after + len(codeFence), true
	}
	return at, complete
}

// blankLine reports whether white space contains a blank line.
func blankLine(s string) bool { return strings.Count(s, "\n") > 1 }

// jsonEnd returns the end of the JSON object at text[at:] and reports whether it
// is complete. Incomplete JSON ends at a code fence, a blank line or the end of the
// text.
func jsonEnd(text string, at int) (end int, complete bool) {
	depth, inString := 0, false
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case c == '\n':
			next := skip(text, at+1, " \t\r")
			if next == len(text) || text[next] == '\n' || strings.HasPrefix(text[next:], codeFence) {
				return at, false
			}
			at = next - 1
		case inString:
			switch c {
			case '\\':
				// An escaped line end is left for the case above.
				if at+1 < len(text) && text[at+1] != '\n' {
					at++
				}
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return at + 1, true
			}
		}
	}
	return len(text), false
}

// skip returns the index of the first character from text[i:] on that is not in
// set.
func skip(text string, i int, set string) int {
	return len(text) - len(strings.TrimLeft(text[i:], set))
}

// paragraphEnd returns where the first paragraph of text ends: at a blank line
// behind something, or at the end.
func paragraphEnd(text string) int {
	for i := skip(text, 0, space); i < len(text); i++ {
		nl := strings.IndexByte(text[i:], '\n')
		if nl < 0 {
			break
		}
		i += nl
		if next := skip(text, i+1, " \t\r"); next < len(text) && text[next] == '\n' {
			return i
		}
	}
	return len(text)
}
