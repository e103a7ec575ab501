package propose

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"intenthint/improve/expand"
	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/redact"
)

// Values of [Edit.Edit].
const (
	AddExample    = "add_example"
	RemoveExample = "remove_example"
	ChangeTrigger = "change_trigger"
	NewIntent     = "new_intent"
)

// Edit is one edit of the intent files. Its JSON is part of `consumer improve
// --propose --json` (contract §10).
type Edit struct {
	// Edit is one of the constants.
	Edit   string `json:"edit"`
	Intent string `json:"intent"`
	// Text is the example, or the new trigger; From the trigger that it replaces.
	Text string `json:"text,omitempty"`
	From string `json:"from,omitempty"`
	// Name, Triggers, Examples and Prompt belong to a new intent.
	Name     string   `json:"name,omitempty"`
	Triggers []string `json:"triggers,omitempty"`
	Examples []string `json:"examples,omitempty"`
	Prompt   string   `json:"prompt,omitempty"`
	// File and Line are where the text that goes stands: nothing but added lines is
	// part of a diff.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Dropped are examples of the edit that are not used, with the reason.
	Dropped []expand.Dropped `json:"dropped,omitempty"`
	// Problem is why the edit is not made; "" if it is made, or if its example was
	// dropped.
	Problem string `json:"problem,omitempty"`
}

// Answer is a model's proposal. Its texts are redacted and bounded.
type Answer struct {
	Why   string
	Edits []Edit
}

// Bounds of an answer.
const (
	maxAnswer   = 256 << 10 // bytes that are read
	maxBraces   = 64        // that open no answer: each costs an attempt to decode
	maxEdits    = 12
	maxTriggers = 6
	maxExamples = 20
	maxTrigger  = 500  // characters
	maxPrompt   = 4000 // characters
	maxWhy      = 500  // characters
)

// thinking matches the reasoning before an answer.
var thinking = regexp.MustCompile(`(?is)^.*</think(?:ing)?>`)

// Parse reads the answer of a model: the first JSON object with a list of edits,
// bare or with anything around it. Errors are [model.ErrUnparsable].
func Parse(answer string) (Answer, error) {
	if len(answer) > maxAnswer {
		return Answer{}, fmt.Errorf("%w: %d bytes of text", model.ErrUnparsable, len(answer))
	}
	answer = thinking.ReplaceAllString(answer, "")
	for at, tried := 0, 0; tried < maxBraces; tried++ {
		brace := strings.IndexByte(answer[at:], '{')
		if brace < 0 {
			break
		}
		at += brace
		var out struct {
			Why   string          `json:"why"`
			Edits json.RawMessage `json:"edits"`
		}
		if json.NewDecoder(strings.NewReader(answer[at:])).Decode(&out) != nil || len(out.Edits) == 0 {
			at++ // the answer may be inside
			continue
		}
		var edits []Edit
		if err := json.Unmarshal(out.Edits, &edits); err != nil {
			return Answer{}, fmt.Errorf("%w: the list of edits: %w", model.ErrUnparsable, err)
		}
		return Answer{Why: text.OneLine(redact.Text(out.Why), maxWhy), Edits: bounded(edits)}, nil
	}
	return Answer{}, fmt.Errorf("%w: no JSON object with a list of edits", model.ErrUnparsable)
}

// bounded returns edits with texts that are safe to show and write.
func bounded(edits []Edit) []Edit {
	out := make([]Edit, 0, min(len(edits), maxEdits))
	for _, e := range edits[:min(len(edits), maxEdits)] {
		line := func(s string) string { return text.OneLine(redact.Text(s), maxTrigger) }
		lines := func(list []string, most int) (out []string) {
			for _, s := range list {
				if s = line(s); s != "" && len(out) < most {
					out = append(out, s)
				}
			}
			return out
		}
		b := Edit{Edit: text.OneLine(e.Edit, intents.MaxExample), Intent: idOf(e.Intent), Text: line(e.Text), From: line(e.From)}
		if b.Edit == NewIntent {
			b.Text, b.From = "", ""
			b.Name, b.Triggers, b.Examples = line(e.Name), lines(e.Triggers, maxTriggers), lines(e.Examples, maxExamples)
			b.Prompt = promptOf(e.Prompt)
		}
		out = append(out, b)
	}
	return out
}

// idOf returns the id in a model's text: "ID (Name)" or the id alone.
func idOf(s string) string {
	head, _, _ := strings.Cut(s, "(")
	return text.OneLine(head, intents.MaxExample)
}

// promptOf returns the lines of a prompt, without control characters. It drops
// lines of only dashes, which would be read as a fence.
func promptOf(s string) string {
	var lines []string
	for line := range strings.Lines(redact.Text(strings.ReplaceAll(s, "\r", "\n"))) {
		line = strings.TrimRightFunc(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || !unicode.IsGraphic(r) {
				return -1
			}
			return r
		}, line), unicode.IsSpace)
		if strings.Trim(line, "- ") != "" || line == "" {
			lines = append(lines, line)
		}
	}
	return text.Clip(strings.TrimSpace(strings.Join(lines, "\n")), maxPrompt)
}
