package classify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/payload"
)

// Bounds of an answer.
const (
	// maxAnswer is the longest text that is parsed, in bytes.
	maxAnswer = 256 << 10
	// maxBraces bounds the braces that do not open a JSON object: each costs an
	// attempt to decode.
	maxBraces = 64
	// maxField bounds the text kept of a field, in characters; an answer becomes
	// part of messages of bounded size.
	maxField = 2000
)

// answerFields distinguish an answer from other JSON objects in the text.
var answerFields = []string{"intent", "reason", "goal", "confidence", "complexity"}

// parseAnswer reads the answer of a model: one JSON object, bare, in a code
// fence, with stray fence marks, after <think> text, or with prose around it
// (contract §6). Several such objects are not an answer. The result has neither
// source nor model. Errors are [model.ErrUnparsable]: nothing is guessed.
func parseAnswer(answer string, cat *intents.Catalog) (payload.Classification, error) {
	fields, err := findAnswer(answer)
	if err != nil {
		return payload.Classification{}, err
	}
	var c payload.Classification
	var intent string
	for _, field := range []struct {
		name string
		to   *string
	}{{"intent", &intent}, {"reason", &c.Reason}, {"goal", &c.Goal}, {"complexity", &c.Complexity}} {
		if *field.to, err = requireString(fields, field.name); err != nil {
			return payload.Classification{}, err
		}
	}
	if c.Confidence, err = requireConfidence(fields["confidence"]); err != nil {
		return payload.Classification{}, err
	}
	switch c.Complexity {
	case payload.ComplexityLow, payload.ComplexityMedium, payload.ComplexityHigh:
	default:
		return payload.Classification{}, fmt.Errorf("%w: complexity is %q, not low, medium or high", model.ErrUnparsable, text.Clip(c.Complexity, 40))
	}
	c.Intent, c.Name = identify(intent, cat)
	c.Reason, c.Goal = text.Clip(c.Reason, maxField), text.Clip(c.Goal, maxField)
	if s, ok := asString(fields["suggestion"]); ok && strings.TrimSpace(s) != "" {
		c.Suggestion = text.Clip(s, maxField)
	}
	return c, nil
}

// identify returns the id and name of the intent that an answer names: the text
// before the first "(", trimmed. A name that is not in the catalogue means the
// fallback.
func identify(answer string, cat *intents.Catalog) (id, name string) {
	head, _, _ := strings.Cut(answer, "(")
	in, ok := cat.Lookup(strings.TrimSpace(head))
	if !ok {
		in = cat.Fallback()
	}
	return in.ID, in.Name
}

func requireString(fields map[string]json.RawMessage, name string) (string, error) {
	raw, ok := fields[name]
	if !ok {
		return "", fmt.Errorf("%w: %s is missing", model.ErrUnparsable, name)
	}
	s, ok := asString(raw)
	if !ok {
		return "", fmt.Errorf("%w: %s is not a string", model.ErrUnparsable, name)
	}
	return s, nil
}

func asString(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func requireConfidence(raw json.RawMessage) (float64, error) {
	if len(raw) == 0 {
		return 0, fmt.Errorf("%w: confidence is missing", model.ErrUnparsable)
	}
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, fmt.Errorf("%w: confidence is not a number", model.ErrUnparsable)
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || v < 0 || v > 1 {
		return 0, fmt.Errorf("%w: confidence %s is not between 0 and 1", model.ErrUnparsable, text.Clip(string(raw), 40))
	}
	return math.Abs(v), nil // -0 is 0
}

// findAnswer returns the one JSON object of text that holds at least one of
// the answer's fields. It tries to decode at each brace, so that braces in
// strings and in prose do not matter, and discards what it found whenever a
// thinking block ends.
func findAnswer(text string) (map[string]json.RawMessage, error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: %d bytes of text", model.ErrUnparsable, len(text))
	}
	var s search
	for i := 0; i < len(text); {
		next := strings.IndexAny(text[i:], "{<")
		if next < 0 {
			break
		}
		i += next
		switch thought := closesThinking(text[i:]); {
		case thought > 0:
			s = search{}
			i += thought
		case text[i] == '<', s.braces > maxBraces:
			i++
		default:
			i += s.brace(text, i)
		}
	}
	return s.answer()
}

// search is the state of the search for an answer.
type search struct {
	found   map[string]json.RawMessage
	several bool
	array   bool // found is the element of an array
	cut     bool // an object is not complete
	braces  int  // that open no object
}

// brace handles the brace at text[i] and returns how many bytes to skip.
func (s *search) brace(text string, i int) int {
	fields, n, err := decodeObject(text[i:])
	if err != nil {
		s.braces++
		// A brace at the end of the prose, or after the answer, is prose; any other
		// brace that is followed by a key begins a truncated object.
		s.cut = s.cut || (s.found == nil || beginsAnswer(text[i:])) && errors.Is(err, io.ErrUnexpectedEOF) && strings.IndexByte(text[i:], '"') >= 0
		return 1
	}
	if isAnswer(fields) {
		s.several = s.several || s.found != nil
		s.array = s.array || inArray(text, i, i+n)
		s.found = fields
	}
	return n
}

func (s *search) answer() (map[string]json.RawMessage, error) {
	switch {
	case s.braces > maxBraces:
		return nil, fmt.Errorf("%w: too many braces that open no object", model.ErrUnparsable)
	case s.cut:
		return nil, fmt.Errorf("%w: the JSON object is cut off", model.ErrUnparsable)
	case s.array:
		return nil, fmt.Errorf("%w: an array", model.ErrUnparsable)
	case s.several:
		return nil, fmt.Errorf("%w: more than one JSON object", model.ErrUnparsable)
	case s.found == nil:
		return nil, fmt.Errorf("%w: no JSON object", model.ErrUnparsable)
	}
	return s.found, nil
}

// beginsAnswer reports whether the first key of an object is one of the answer's.
func beginsAnswer(object string) bool {
	rest := strings.TrimLeft(object[1:], " \t\r\n")
	return slices.ContainsFunc(answerFields, func(name string) bool { return strings.HasPrefix(rest, `"`+name+`"`) })
}

// decodeObject decodes the JSON object at the beginning of text and returns
// its length.
func decodeObject(text string) (map[string]json.RawMessage, int, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	var fields map[string]json.RawMessage
	if err := dec.Decode(&fields); err != nil {
		return nil, 0, err
	}
	return fields, int(dec.InputOffset()), nil
}

func isAnswer(fields map[string]json.RawMessage) bool {
	for _, name := range answerFields {
		if _, ok := fields[name]; ok {
			return true
		}
	}
	return false
}

// closesThinking returns the length of the closing tag of a thinking block at
// the beginning of text, or 0.
func closesThinking(text string) int {
	for _, tag := range []string{"</think>", "</thinking>"} {
		if len(text) >= len(tag) && strings.EqualFold(text[:len(tag)], tag) {
			return len(tag)
		}
	}
	return 0
}

// inArray reports whether the object at text[from:to] is the element of an array.
func inArray(text string, from, to int) bool {
	before, after := strings.TrimSpace(text[:from]), strings.TrimSpace(text[to:])
	return strings.HasSuffix(before, "[") && (strings.HasPrefix(after, "]") || strings.HasPrefix(after, ","))
}
