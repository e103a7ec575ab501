package intents

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// NewFile returns an intent file with an id, name, triggers and prompt, every item
// one line of text; examples stand beside it (see [AppendExamples]). The result is
// parsed before it is returned: either it is that intent, without a fault, or there
// is an error.
func NewFile(in Intent) ([]byte, error) {
	for _, item := range append([]string{in.ID, in.Name}, in.Triggers...) {
		if err := isOneLine("text", item); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---\nid: %s\nname: %s\ntriggers:\n", in.ID, quoted(in.Name))
	for _, trigger := range in.Triggers {
		fmt.Fprintf(&b, "  - %s\n", quoted(trigger))
	}
	fmt.Fprintf(&b, "---\n%s\n", in.Prompt)
	data := []byte(b.String())
	name := FileName(in.ID)
	file, faults := Parse(name, data)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].Line, faults[0].Reason)
	}
	want := File{Name: name, Intent: in, Enabled: true}
	want.Intent.File, want.Intent.Examples = name, nil
	if !sameIntent(file, want) {
		return nil, errors.New("the intent cannot be written as a file")
	}
	return data, nil
}

// quoted writes one line of text as a YAML string.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// FileName is the name of the file of a new intent: its id in lower case, with - for
// characters that only ids may have.
func FileName(id string) string {
	return strings.Map(func(r rune) rune {
		if isIDPunctuation(r) {
			return '-'
		}
		return unicode.ToLower(r)
	}, id) + intentSuffix
}

// isOneLine returns an error for a text that is blank, surrounded by white
// space, or longer than a line.
func isOneLine(kind, text string) error {
	if text == "" || strings.TrimSpace(text) != text || strings.ContainsFunc(text, isControl) {
		return fmt.Errorf("the %s %q is not one line of text", kind, text)
	}
	return nil
}
