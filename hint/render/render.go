// Package render makes the text of a hint (contract §6). No other package knows
// the layout of a hint.
package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/payload"
)

const (
	hintOpen  = "<" + payload.HintTag + ">"
	hintClose = "</" + payload.HintTag + ">"

	// maxHintField bounds a text of a model in a hint, in characters.
	maxHintField = 300
)

// Prompts is the advice for the main agent by complexity. A blank level means
// the built-in text.
type Prompts struct {
	Low    string `json:"low,omitempty"`
	Medium string `json:"medium,omitempty"`
	High   string `json:"high,omitempty"`
}

var defaultPrompts = Prompts{
	Low: "This looks simple: answer directly and briefly. " +
		"Use a tool only when the answer is not at hand, and do not explain your plan.",
	Medium: "This takes a few steps: settle in a sentence what is wanted, take the steps in order, " +
		"use the tools that fit, and check the result once before you answer.",
	High: "This is demanding work: make a short plan first and name what is uncertain. " +
		"Work through the plan step by step, adjust it when a step shows something new, " +
		"verify the result against what was asked, and say what could not be verified.",
}

// Of returns the advice for a message of the given complexity. An intent's own
// complexity is chosen instead of it; with [intents.ComplexityNone] only the
// operator's text is said, not the built-in one (contract §6).
func (p Prompts) Of(complexity string, in intents.Intent) string {
	if in.Complexity == intents.ComplexityNone {
		return p.level(complexity)
	}
	complexity = cmp.Or(in.Complexity, complexity)
	return cmp.Or(p.level(complexity), defaultPrompts.level(complexity))
}

// level returns the text for a complexity; an unknown complexity counts as medium.
func (p Prompts) level(complexity string) string {
	switch complexity {
	case payload.ComplexityLow:
		return strings.TrimSpace(p.Low)
	case payload.ComplexityHigh:
		return strings.TrimSpace(p.High)
	default:
		return strings.TrimSpace(p.Medium)
	}
}

// Form is how much a hint says (HINT_FORM).
type Form string

// Forms of a hint. A brief hint has neither the intent's prompt nor the
// complexity prompt.
const (
	Full  Form = "full"
	Brief Form = "brief"
)

const (
	// maxBrief bounds a brief hint, in bytes (contract §6).
	maxBrief = 400
	// sure is the confidence from which a hint is more than a suggestion (contract
	// §6).
	sure = 0.8
)

// Prompted reports whether a hint contains the intent's prompt.
func Prompted(c payload.Classification, in intents.Intent, form Form) bool {
	return form != Brief && fastpath(c, in) == "" && in.Prompt != ""
}

// Hint makes the text that is put in front of the agent's prompt (contract §6).
// Text of the model becomes one escaped, bounded line per field. Prompts are the
// operator's own text, in which only the tag of the block is escaped. in is the
// intent of the classification, with the prompt to put into the hint.
func Hint(c payload.Classification, in intents.Intent, form Form, complexity Prompts) string {
	full := body(c, in, complexity)
	if form != Brief {
		return hint(c, in, full, maxHintField)
	}
	// Of the operator's text only a keyword's own hint is kept, if it is short.
	// The fields share the remaining bytes.
	brief := [][]string{nil}
	if fastpath(c, in) != "" {
		brief = [][]string{full, nil}
	}
	out := ""
	for _, body := range brief {
		for limit := maxHintField; limit >= 0; limit = limit*3/4 - 1 {
			if out = hint(c, in, body, limit); len(out) <= maxBrief {
				return out
			}
		}
	}
	return out // reached only with an id of hundreds of bytes
}

// fastpath returns the intent's fastpath hint if the message is a keyword, else
// "".
func fastpath(c payload.Classification, in intents.Intent) string {
	if c.Source != payload.SourceFastpath {
		return ""
	}
	return strings.TrimSpace(in.Fastpath.Hint)
}

// body returns the operator's own text in a full hint, by paragraph.
func body(c payload.Classification, in intents.Intent, complexity Prompts) []string {
	if own := fastpath(c, in); own != "" {
		return []string{own}
	}
	out := []string{strings.TrimSpace(in.Prompt), complexity.Of(c.Complexity, in)}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// hint lays out a hint. Each field has at most limit characters.
func hint(c payload.Classification, in intents.Intent, body []string, limit int) string {
	size := len(payload.UntrustedHeader) + len(c.Reason) + len(c.Goal) + len(c.Suggestion) + 256
	for _, part := range body {
		size += len(part)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(payload.UntrustedHeader)
	b.WriteString("\n" + hintOpen + "\nintent: ")
	writeGuarded(&b, text.OneLine(in.ID, maxHintField))
	b.WriteString(" (")
	writeGuarded(&b, text.OneLine(cmp.Or(in.Name, in.ID), limit))
	b.WriteString(")\n")
	writeField(&b, "reason: ", c.Reason, limit)
	writeField(&b, "goal: ", c.Goal, limit)
	if strings.TrimSpace(c.Suggestion) != "" && limit > 0 {
		writeField(&b, "suggestion: ", c.Suggestion, limit)
	}
	b.WriteString("confidence: ")
	var buf [16]byte
	b.Write(strconv.AppendFloat(buf[:0], c.Confidence, 'f', 2, 64))
	if c.Confidence < sure {
		b.WriteString(" (a suggestion)")
	}
	b.WriteString(lastField)
	b.WriteString(text.Escape(text.OneLine(c.Complexity, maxHintField)))
	b.WriteByte('\n')
	for _, part := range body {
		b.WriteByte('\n')
		writeGuarded(&b, part)
		b.WriteByte('\n')
	}
	b.WriteString(hintClose)
	return b.String()
}

// lastField begins the last line of a hint that depends on the message.
const lastField = "\ncomplexity: "

// Split cuts a hint in two: rest is the same in all hints of an intent and a
// complexity, and can be stored once. For a text of another shape, rest is the
// whole text.
func Split(hint string) (own, rest string) {
	i := strings.Index(hint, lastField)
	if i < 0 {
		return "", hint
	}
	i += len(lastField)
	i += max(0, strings.IndexByte(hint[i:], '\n'))
	return hint[:i], hint[i:]
}

func writeField(b *strings.Builder, label, value string, limit int) {
	b.WriteString(label)
	b.WriteString(text.Escape(text.OneLine(value, limit)))
	b.WriteByte('\n')
}

// writeGuarded writes trusted text, which must not open or close the block by
// accident: the bracket before the block's own name is escaped.
func writeGuarded(b *strings.Builder, s string) {
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		name := strings.TrimLeft(s[i+1:], "/ \t\r\n")
		if len(name) >= len(payload.HintTag) && strings.EqualFold(name[:len(payload.HintTag)], payload.HintTag) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
		s = s[i+1:]
	}
}
