// Package render makes the text of a hint (contract §6). It alone knows how a
// hint is laid out.
package render

import (
	"cmp"
	"strconv"
	"strings"

	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/payload"
)

const (
	hintOpen  = "<" + payload.HintTag + ">"
	hintClose = "</" + payload.HintTag + ">"

	// maxHintField is the longest text of a model in a hint, in characters.
	maxHintField = 300
)

// Prompts is the advice for the main agent by complexity. A level that is
// blank has the built-in text.
type Prompts struct {
	Low    string `json:"low"`
	Medium string `json:"medium"`
	High   string `json:"high"`
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

// Of returns the advice for a complexity, that for "medium" when the level is
// none of low, medium and high.
func (p Prompts) Of(complexity string) string {
	switch complexity {
	case payload.ComplexityLow:
		return cmp.Or(strings.TrimSpace(p.Low), defaultPrompts.Low)
	case payload.ComplexityHigh:
		return cmp.Or(strings.TrimSpace(p.High), defaultPrompts.High)
	default:
		return cmp.Or(strings.TrimSpace(p.Medium), defaultPrompts.Medium)
	}
}

// Hint makes the text that is put in front of the agent's prompt
// (contract §6). What the model wrote stands there as one escaped, bounded line
// a field; the prompts are the operator's own text and stand as they are, but
// for the tag of the block itself.
func Hint(c payload.Classification, cat *intents.Catalog, complexity Prompts) string {
	in, ok := cat.Lookup(c.Intent)
	if !ok {
		in = cat.Fallback()
	}
	prompt := strings.TrimSpace(in.Prompt)
	advice := complexity.Of(c.Complexity)

	var b strings.Builder
	b.Grow(len(payload.UntrustedHeader) + len(prompt) + len(advice) + len(c.Reason) + len(c.Goal) + len(c.Suggestion) + 256)
	b.WriteString(payload.UntrustedHeader)
	b.WriteString("\n" + hintOpen + "\nintent: ")
	writeGuarded(&b, text.OneLine(in.ID, maxHintField))
	b.WriteString(" (")
	writeGuarded(&b, text.OneLine(cmp.Or(in.Name, in.ID), maxHintField))
	b.WriteString(")\n")
	writeField(&b, "reason: ", c.Reason)
	writeField(&b, "goal: ", c.Goal)
	if strings.TrimSpace(c.Suggestion) != "" {
		writeField(&b, "suggestion: ", c.Suggestion)
	}
	b.WriteString("confidence: ")
	var buf [16]byte
	b.Write(strconv.AppendFloat(buf[:0], c.Confidence, 'f', 2, 64))
	b.WriteString(lastField)
	b.WriteString(text.Escape(text.OneLine(c.Complexity, maxHintField)))
	b.WriteByte('\n')
	if prompt != "" {
		b.WriteByte('\n')
		writeGuarded(&b, prompt)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	writeGuarded(&b, advice)
	b.WriteString("\n" + hintClose)
	return b.String()
}

// lastField begins the last line of a hint that depends on the message. What
// follows is the same in all hints of an intent and a complexity.
const lastField = "\ncomplexity: "

// Split cuts a hint behind its own lines: rest is the same in all hints of an
// intent and a complexity, so that it can be kept once. A text of another shape
// is all rest. own + rest is the hint.
func Split(hint string) (own, rest string) {
	i := strings.Index(hint, lastField)
	if i < 0 {
		return "", hint
	}
	i += len(lastField)
	i += max(0, strings.IndexByte(hint[i:], '\n'))
	return hint[:i], hint[i:]
}

func writeField(b *strings.Builder, label, value string) {
	b.WriteString(label)
	b.WriteString(text.Escape(text.OneLine(value, maxHintField)))
	b.WriteByte('\n')
}

// writeGuarded writes trusted text so that it does not open or close the block
// by accident: the bracket before the block's own name is escaped.
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
