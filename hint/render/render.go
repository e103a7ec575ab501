// Package render makes the text of a hint (contract §6). No other package knows
// the layout of a hint.
package render

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

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

// Of returns the advice for a message of the given complexity, "" for none. An
// intent's own complexity is chosen instead of it; with [intents.ComplexityNone] only
// the operator's text is said, not the built-in one (contract §6). Where the intent
// leaves it open, the built-in advice for simple messages, not to use tools, is not
// said under a prompt that asks for them.
func (p Prompts) Of(complexity string, in intents.Intent) string {
	level := cmp.Or(in.Complexity, complexity)
	if in.Complexity == intents.ComplexityNone {
		level = complexity
	}
	own := p.level(level)
	switch {
	case own != "":
		return own
	case in.Complexity == intents.ComplexityNone, in.Complexity == "" && level == payload.ComplexityLow && asksForWork.MatchString(in.Prompt):
		return ""
	}
	return defaultPrompts.level(level)
}

// asksForWork matches a prompt that asks for tools, or for checks. The words are those
// of prompts in English, German, French, Spanish, Chinese and Japanese.
var asksForWork = regexp.MustCompile(`(?i)\b(tools?|skill|fetch|search|look up|browse|open the|run|execute|query|call|check|verify|confirm|test|measure|read the|inspect|` +
	`werkzeuge?|suche|pr[üu]fe|rufe|f[üu]hre|outils?|cherche|v[ée]rifie|ex[ée]cute|herramientas?|busca|comprueba|verifica|ejecuta)\b|工具|搜索|搜尋|查询|查詢|检查|檢查|运行|執行|ツール|検索|確認`)

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
// complexity prompt. The original one has all lines of the original plugin, and all of
// it is untrusted context.
const (
	Full     Form = "full"
	Original Form = "original"
	Brief    Form = "brief"
)

// Frame is what of a hint stands under the line of untrusted context (HINT_FRAME).
type Frame string

// Frames of a hint: what people or models wrote, or all of it.
const (
	FrameOperator  Frame = "operator"
	FrameUntrusted Frame = "untrusted"
)

const (
	// maxBrief bounds a brief hint, in bytes (contract §6).
	maxBrief = 400
	// sure is the confidence from which a hint is more than a suggestion (contract
	// §6).
	sure = 0.8
)

// Style is how hints are written.
type Style struct {
	Form       Form
	Frame      Frame
	Complexity Prompts
}

// Prompted reports whether a hint contains the intent's prompt.
func Prompted(c payload.Classification, in intents.Intent, form Form) bool {
	return form != Brief && fastpath(c, in) == "" && in.Prompt != ""
}

// Hint makes the text that is put in front of the agent's prompt (contract §6), of
// the given form instead of the style's. Text of the model becomes one escaped, bounded
// line per field. Prompts are the operator's own text, in which only the tag of the
// block is escaped. in is the intent of the classification, with the prompt to put into
// the hint; message is what the user said.
func (s Style) Hint(c payload.Classification, in intents.Intent, message string, form Form) string {
	h := hint{Classification: c, in: in, frame: s.Frame, advice: s.Complexity.Of(c.Complexity, in), goal: goalOf(c, message)}
	if own := fastpath(c, in); own != "" {
		h.body = own
	}
	switch form {
	case Original:
		return h.original(maxHintField)
	case Brief:
		return h.brief()
	}
	return h.full(maxHintField)
}

// hint is a hint that is being written.
type hint struct {
	payload.Classification
	in    intents.Intent
	frame Frame
	// body takes the place of the intent's prompt and the advice: a keyword's own hint.
	body string
	// advice is the complexity prompt, "" if it says nothing.
	advice string
	goal   string
}

// fastpath returns the intent's fastpath hint if the message is a keyword, else
// "".
func fastpath(c payload.Classification, in intents.Intent) string {
	if c.Source != payload.SourceFastpath {
		return ""
	}
	return strings.TrimSpace(in.Fastpath.Hint)
}

// goalOf returns the goal of a classification if a model wrote it and it does more
// than repeat the message, else "".
func goalOf(c payload.Classification, message string) string {
	if c.Model == "" || c.Source == payload.SourceEmbedding {
		return "" // made of the message by the local classifier
	}
	bare := func(s string) string {
		return strings.ToLower(strings.TrimFunc(text.Fold(s), func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) }))
	}
	if bare(c.Goal) == bare(message) {
		return ""
	}
	return c.Goal
}

// paragraphs returns the operator's own text, by paragraph.
func (h *hint) paragraphs() []string {
	if h.body != "" {
		return []string{h.body}
	}
	out := []string{strings.TrimSpace(h.in.Prompt), h.advice}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// brief lays out a hint of at most maxBrief bytes. Of the operator's text only a
// keyword's own hint is kept, if it is short. The fields share the remaining bytes.
func (h *hint) brief() string {
	bodies := []string{""}
	if h.body != "" {
		bodies = []string{h.body, ""}
	}
	h.in.Prompt, h.in.Name = "", cmp.Or(h.in.Name, h.in.ID)
	tells := h.advice != "" && h.body == ""
	h.advice = ""
	out := ""
	for _, h.body = range bodies {
		for limit := maxHintField; limit >= 0; limit = limit*3/4 - 1 {
			if out = h.lines(limit, tells); len(out) <= maxBrief {
				return out
			}
		}
	}
	return out // reached only with an id of hundreds of bytes
}

func (h *hint) full(limit int) string { return h.lines(limit, h.advice != "" && h.body == "") }

// lines lays out a hint. Each field has at most limit characters. complexity
// reports whether the complexity says something.
func (h *hint) lines(limit int, complexity bool) string {
	var b strings.Builder
	b.Grow(len(h.in.Prompt) + len(h.body) + len(h.advice) + len(h.goal) + len(h.Suggestion) + 512)
	if h.frame == FrameUntrusted {
		b.WriteString(payload.UntrustedHeader + "\n")
	}
	b.WriteString(hintOpen)
	h.writeIntent(&b, limit)
	if h.Confidence < sure {
		h.writeConfidence(&b)
	}
	if complexity {
		b.WriteString("complexity: " + text.Escape(text.OneLine(cmp.Or(h.in.Complexity, h.Complexity), maxHintField)) + "\n")
	}
	for _, part := range h.paragraphs() {
		b.WriteByte('\n')
		writeGuarded(&b, part)
		b.WriteByte('\n')
	}
	goal, suggestion := strings.TrimSpace(h.goal), strings.TrimSpace(h.Suggestion)
	if limit > 0 && (goal != "" || suggestion != "") {
		b.WriteByte('\n')
		if h.frame != FrameUntrusted {
			b.WriteString(payload.UntrustedHeader + "\n")
		}
		if goal != "" {
			writeField(&b, "goal: ", goal, limit)
		}
		if suggestion != "" {
			writeField(&b, "suggestion: ", suggestion, limit)
		}
	}
	b.WriteString(hintClose)
	return b.String()
}

// original lays out a hint as the original plugin does.
func (h *hint) original(limit int) string {
	var b strings.Builder
	b.Grow(len(h.in.Prompt) + len(h.body) + len(h.advice) + len(h.Reason) + len(h.Goal) + len(h.Suggestion) + 512)
	b.WriteString(payload.UntrustedHeader + "\n" + hintOpen)
	h.writeIntent(&b, limit)
	writeField(&b, "reason: ", h.Reason, limit)
	writeField(&b, "goal: ", h.Goal, limit)
	if strings.TrimSpace(h.Suggestion) != "" {
		writeField(&b, "suggestion: ", h.Suggestion, limit)
	}
	h.writeConfidence(&b)
	writeField(&b, "complexity: ", h.Complexity, limit)
	for _, part := range h.paragraphs() {
		b.WriteByte('\n')
		writeGuarded(&b, part)
		b.WriteByte('\n')
	}
	b.WriteString(hintClose)
	return b.String()
}

func (h *hint) writeIntent(b *strings.Builder, limit int) {
	b.WriteString("\nintent: ")
	writeGuarded(b, text.OneLine(h.in.ID, maxHintField))
	b.WriteString(" (")
	writeGuarded(b, text.OneLine(cmp.Or(h.in.Name, h.in.ID), limit))
	b.WriteString(")\n")
}

func (h *hint) writeConfidence(b *strings.Builder) {
	b.WriteString("confidence: " + strconv.FormatFloat(h.Confidence, 'f', 2, 64))
	if h.Confidence < sure {
		b.WriteString(" (a suggestion)")
	}
	b.WriteByte('\n')
}

// Split cuts a hint in three: body, from the first blank line on, is the same in all
// hints of an intent and a complexity, and can be stored once. For a text of another
// shape, body is the whole text.
func Split(hint string) (head, body, tail string) {
	i := strings.Index(hint, "\n\n")
	if i < 0 {
		return "", hint, ""
	}
	end := len(hint)
	if at := strings.LastIndex(hint, "\n\n"+payload.UntrustedHeader+"\n"); at >= i {
		end = at
	}
	return hint[:i], hint[i:end], hint[end:]
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
