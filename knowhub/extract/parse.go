package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"intenthint/internal/text"
	"intenthint/knowhub/experience"
)

// Candidate is an experience as extracted by a model.
type Candidate struct {
	Task, Resource, Result string
	// Confidence is 0–1; 0 if the model gave none.
	Confidence float64
}

// ErrUnparsable reports an answer that neither has experiences nor says that
// there are none.
var ErrUnparsable = errors.New("no list of experiences")

// Bounds of an answer.
const (
	// maxAnswer is the longest text that is parsed, in bytes.
	maxAnswer = 256 << 10
	// maxBroken bounds the brackets that open no JSON: each costs an attempt.
	maxBroken = 64
	// maxCandidates is more than a conversation yields.
	maxCandidates = 50
)

// Parse reads the experiences in a model's answer: {"experiences": […]}, a list, or
// single objects; bare, in a code fence, after thoughts, or with prose around.
// From a truncated answer it returns the complete experiences. Experiences
// without task or result are left out. Texts are cut to the bounds of package
// experience. An empty list is not an error.
func Parse(answer string) ([]Candidate, error) {
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("%w: %d bytes of text", ErrUnparsable, len(answer))
	}
	p := read(afterThoughts(answer))
	if !p.hasResult() {
		p = read(answer) // the tag was part of a text
	}
	if !p.hasResult() && !nothing.MatchString(strings.TrimSpace(afterThoughts(answer))) {
		return nil, ErrUnparsable
	}
	return p.found, nil
}

// nothing matches answers that say in words that there are no experiences.
var nothing = regexp.MustCompile(`^(?i:(?:\x60{3}(?:json)?\s*)?(?:null|none|n/a)\.?(?:\s*\x60{3})?|(?:there (?:are|is)|i (?:found|find|see|note)) no (?:\w+ ){0,3}experiences?\b[^{\[]{0,200}|no (?:\w+ ){0,2}experiences?\b[^{\[]{0,200})$`)

// read reads the JSON values in an answer. Anything else is prose, or
// truncated.
func read(answer string) (p parser) {
	for i, broken := 0, 0; i < len(answer) && broken <= maxBroken; {
		next := strings.IndexAny(answer[i:], "{[")
		if next < 0 {
			break
		}
		i += next
		value, n, err := decode(answer[i:])
		if err != nil {
			broken++
			i++
			continue
		}
		p.take(value)
		i += n
	}
	return p
}

// afterThoughts returns the text after the last thinking block.
func afterThoughts(answer string) string {
	for _, tag := range []string{"</think>", "</thinking>"} {
		if i := strings.LastIndex(answer, tag); i >= 0 {
			answer = answer[i+len(tag):]
		}
	}
	return answer
}

// decode decodes the JSON value at the beginning of s and returns its length.
func decode(s string) (any, int, error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, 0, err
	}
	return value, int(dec.InputOffset()), nil
}

type parser struct {
	found []Candidate
	none  bool // the answer says that there are none
}

// hasResult reports whether the answer named experiences, or that there are none.
func (p *parser) hasResult() bool { return p.none || len(p.found) > 0 }

// take reads a value that may hold experiences.
func (p *parser) take(value any) {
	switch v := value.(type) {
	case []any:
		p.none = p.none || len(v) == 0
		for _, element := range v {
			if fields, ok := element.(map[string]any); ok {
				p.candidate(fields)
			}
		}
	case map[string]any:
		if list, ok := v["experiences"]; ok {
			p.none = p.none || list == nil
			if _, nested := list.([]any); nested {
				p.take(list)
			} else if fields, ok := list.(map[string]any); ok {
				p.candidate(fields)
			}
			return
		}
		p.none = p.none || len(v) == 0
		p.candidate(v)
	}
}

// candidate reads an experience. Other objects are ignored.
func (p *parser) candidate(fields map[string]any) {
	c := Candidate{
		Task:       words(fields["task"], experience.MaxTask),
		Resource:   words(fields["resource"], experience.MaxResource),
		Result:     words(fields["result"], experience.MaxResult),
		Confidence: share(fields["confidence"]),
	}
	if c.Task != "" && c.Result != "" && len(p.found) < maxCandidates {
		p.found = append(p.found, c)
	}
}

// words returns a field as text of at most limit characters. Models write a list
// if there are several resources.
func words(value any, limit int) string {
	var s string
	switch v := value.(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	case []any:
		var parts []string
		for _, element := range v {
			if part, ok := element.(string); ok && strings.TrimSpace(part) != "" {
				parts = append(parts, strings.TrimSpace(part))
			}
		}
		s = strings.Join(parts, ", ")
	}
	return text.Clip(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), limit)
}

// share reads a confidence: a number from 0 to 1, or per cent; 0 for anything else.
func share(value any) float64 {
	var s string
	switch v := value.(type) {
	case json.Number:
		s = v.String()
	case string:
		s = strings.TrimSpace(v)
	}
	percent := strings.HasSuffix(s, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if percent || n > 1 {
		n /= 100
	}
	if err != nil || math.IsNaN(n) || n < 0 || n > 1 {
		return 0
	}
	return math.Abs(n) // -0 is 0
}
