package expand

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"intenthint/internal/text"
	"intenthint/model"
)

// Bounds of an answer.
const (
	maxAnswer = 256 << 10 // bytes that are looked at
	// maxValues is how many opening brackets and braces are tried; what comes
	// after so many that open no list is no answer.
	maxValues = 64
	// maxSuggestions is more than anybody asks for.
	maxSuggestions = 1000
	// maxSuggestion is where longer texts are cut, in characters; they are too
	// long for an example anyway.
	maxSuggestion = 2 * maxExample
)

// thinking is what a model thought before it answered.
var thinking = regexp.MustCompile(`(?is)^.*</think(?:ing)?>`)

// parseAnswer reads the suggestions in a model's answer: a JSON array of strings,
// or an object that has one as its "examples", bare or with anything around it
// (a code fence, prose, thinking). Of several lists all count. Each suggestion
// comes as one line without control characters and invisible ones; blank ones
// and what is not a string are left out. Errors are [model.ErrUnparsable].
func parseAnswer(text string) ([]string, error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: %d bytes of text", model.ErrUnparsable, len(text))
	}
	text = thinking.ReplaceAllString(text, "")
	var out []string
	lists, values := 0, 0
	for i := 0; i < len(text) && values < maxValues; {
		next := strings.IndexAny(text[i:], "[{")
		if next < 0 {
			break
		}
		i += next
		values++
		items, n, ok := decodeList(text[i:])
		if !ok {
			i++ // it may hold one
			continue
		}
		i += n
		lists++
		for _, item := range items {
			if line := suggestionOf(item); line != "" && len(out) < maxSuggestions {
				out = append(out, line)
			}
		}
	}
	switch {
	case lists == 0:
		return nil, fmt.Errorf("%w: no JSON list of examples", model.ErrUnparsable)
	case len(out) == 0:
		return nil, fmt.Errorf("%w: the list of examples is empty", model.ErrUnparsable)
	}
	return out, nil
}

// decodeList decodes the list at the beginning of text and returns how many
// bytes it takes.
func decodeList(text string) (items []json.RawMessage, n int, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	if text[0] == '{' {
		var answer struct {
			Examples []json.RawMessage `json:"examples"`
		}
		if dec.Decode(&answer) != nil || answer.Examples == nil {
			return nil, 0, false
		}
		return answer.Examples, int(dec.InputOffset()), true
	}
	if dec.Decode(&items) != nil {
		return nil, 0, false
	}
	for _, item := range items {
		if item[0] == '"' {
			return items, int(dec.InputOffset()), true
		}
	}
	return nil, 0, false
}

func suggestionOf(item json.RawMessage) string {
	var said string
	if item[0] != '"' || json.Unmarshal(item, &said) != nil {
		return ""
	}
	return text.OneLine(said, maxSuggestion)
}
