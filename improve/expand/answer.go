package expand

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/model"
)

// Bounds of an answer.
const (
	maxAnswer = 256 << 10 // bytes that are read
	// maxValues bounds the opening brackets and braces that are tried.
	maxValues = 64
	// maxSuggestions bounds the suggestions that are kept.
	maxSuggestions = 1000
	// maxSuggestion is where texts are cut, in characters. A cut text is too long
	// for an example.
	maxSuggestion = 2 * intents.MaxExample
)

// thinking matches the reasoning before an answer.
var thinking = regexp.MustCompile(`(?is)^.*</think(?:ing)?>`)

// parseAnswer reads the suggestions in a model's answer: a JSON array of strings,
// or an object that has one as its "examples", bare or with anything around it
// (a code fence, prose, thinking). Several lists add up. Each suggestion becomes
// one line without control and invisible characters; items that are blank or not
// a string are left out. Errors are [model.ErrUnparsable].
func parseAnswer(text string) ([]string, error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: %d bytes of text", model.ErrUnparsable, len(text))
	}
	text = thinking.ReplaceAllString(text, "")
	var out []string
	lists := 0
	for i, values := 0, 0; values < maxValues; values++ {
		next := strings.IndexAny(text[i:], "[{")
		if next < 0 {
			break
		}
		i += next
		items, n, ok := decodeList(text[i:])
		if !ok {
			i++ // there may be a list inside
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
	if dec.Decode(&items) != nil || !slices.ContainsFunc(items, isString) {
		return nil, 0, false
	}
	return items, int(dec.InputOffset()), true
}

func isString(item json.RawMessage) bool { return item[0] == '"' }

func suggestionOf(item json.RawMessage) string {
	var said string
	if !isString(item) || json.Unmarshal(item, &said) != nil {
		return ""
	}
	return text.OneLine(said, maxSuggestion)
}
