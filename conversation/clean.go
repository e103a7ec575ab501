package conversation

import (
	"bytes"
	"strings"

	"intenthint/internal/text"
	"intenthint/payload"
)

// clean returns text without thinking and without the blocks of plugins and the
// gateway, with every run of white space folded to one space. The result is valid
// UTF-8.
//
// Of a block that is never closed only the tag is removed: people write about
// such tags. An assistant's text may have been cut off in a block, so there the
// block is removed to the end of the text if its tag begins a line.
func clean(message, role string) string {
	return text.Fold(strip(message, role == payload.RoleAssistant))
}

// blockNames are the tags whose content is removed: thinking, and what plugins
// and this system put into prompts.
var blockNames = [...]string{
	"think", payload.HintTag, "active_memory_plugin", payload.ExperiencesTag, payload.SkippedTag, payload.ReminderTag,
}

// maxTagBytes is the length of the longest tag of a block.
const maxTagBytes = len("</" + payload.HintTag + ">")

// ctxMark marks OpenClaw's own blocks since 2026.9, instead of "(untrusted
// metadata):".
const ctxMark = "⟦openclaw:ctx⟧"

// headings are the lines in front of JSON that describes the conversation.
var headings = [...]string{
	"Conversation info (untrusted metadata):",
	"Sender (untrusted metadata):",
	"Conversation info: " + ctxMark,
	"Sender: " + ctxMark,
}

// strip removes blocks, headers and headed JSON in one pass. It appends the
// remaining text to out, and looks for tags and headings at the end of out.
// This also finds tags that a removal joins. mayBeCut reports whether the text may
// end within a block.
func strip(text string, mayBeCut bool) string {
	if strings.IndexByte(text, '<') < 0 && !strings.Contains(text, "ntrusted ") && !strings.Contains(text, ctxMark) {
		return text
	}
	s := stripper{out: make([]byte, 0, len(text))}
	for i := 0; i < len(text); {
		end := nextEnd(text, i)
		if end < 0 {
			s.out = append(s.out, text[i:]...)
			break
		}
		s.out = append(s.out, text[i:end+1]...)
		i = end + 1
		if text[end] == '>' {
			s.tag()
			continue
		}
		if bytes.HasSuffix(s.out, []byte(payload.UntrustedHeader)) {
			s.out = s.out[:len(s.out)-len(payload.UntrustedHeader)]
			continue
		}
		i = s.headed(text, i)
	}
	return string(s.finish(mayBeCut))
}

// nextEnd returns the index, from i on, of the next byte with which a tag, the
// header or a heading can end, or -1.
func nextEnd(text string, i int) int {
	for ; i < len(text); i++ {
		if c := text[i]; c == '>' || c == ':' || c == ctxMark[len(ctxMark)-1] {
			return i
		}
	}
	return -1
}

type stripper struct {
	out  []byte
	open []opening
	// By name: the number of openings in open, the closing tags that closed an
	// opening, and where out ended at the last of these.
	pending, closings, closedAt [len(blockNames)]int
	incomplete                  int // where JSON that does not end was given up
}

// opening is an opening tag that is not closed yet.
type opening struct {
	at       int // position of its tag in out
	name     int
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
	name := blockName(word)
	switch {
	case name < 0:
	case !closing:
		s.open = append(s.open, opening{at: at, name: name, closings: s.closings[name]})
		s.pending[name]++
	case s.pending[name] == 0:
		s.out = s.out[:at]
	default:
		for {
			last := s.open[len(s.open)-1]
			s.open = s.open[:len(s.open)-1]
			s.pending[last.name]--
			if last.name == name {
				s.out = s.out[:last.at]
				break
			}
		}
		s.closings[name]++
		s.closedAt[name] = len(s.out)
	}
}

func blockName(word []byte) int {
	for i, name := range blockNames {
		if len(word) == len(name) && bytes.EqualFold(word, []byte(name)) {
			return i
		}
	}
	return -1
}

// headed removes the JSON at text[i:] and its heading when out ends in one, and
// returns where to continue. Of JSON that does not end, only the heading is
// removed; headings in it are text.
func (s *stripper) headed(text string, i int) int {
	if i < s.incomplete {
		return i
	}
	for _, heading := range headings {
		if !bytes.HasSuffix(s.out, []byte(heading)) {
			continue
		}
		end, complete := jsonBlockEnd(text, i)
		if end > i {
			s.out = append(s.out[:len(s.out)-len(heading)], '\n')
		}
		if complete {
			return end
		}
		s.incomplete = end
		return i
	}
	return i
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
		case mayBeCut && s.closings[o.name] > o.closings:
			// Opened twice and closed once: it ends where the other block was closed.
			from = max(o.at, min(s.closedAt[o.name], len(s.out)))
		case mayBeCut && beginsLine(s.out[:o.at]):
			return kept
		default:
			from = o.at + len(blockNames[o.name]) + len("<>")
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
	case at < len(text) && text[at] == '{':
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
