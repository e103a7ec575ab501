package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/intents"
)

// Line is one labelled message.
type Line struct {
	Text string `json:"text"`
	// Intent is an id; [intents.FallbackID] is out of scope.
	Intent string `json:"intent"`
	// Number counts the lines of the file, from 1.
	Number int `json:"-"`
}

// ErrNoLines means that the data holds no message.
var ErrNoLines = errors.New("no lines to evaluate")

// Parse reads JSON lines, {"text", "intent"}. It skips blank lines and other
// fields. Its errors name the file, as name, and the line.
func Parse(name string, data []byte) ([]Line, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var lines []Line
	number := 0
	for raw := range bytes.Lines(data) {
		number++
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 {
			continue
		}
		line, err := parseLine(raw)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		line.Number = number
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrNoLines)
	}
	return lines, nil
}

func parseLine(raw []byte) (Line, error) {
	var line Line
	if !utf8.Valid(raw) {
		return line, errors.New("not UTF-8")
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		return line, fmt.Errorf(`not an object {"text": "…", "intent": "…"}: %w`, err)
	}
	line.Intent = strings.TrimSpace(line.Intent)
	switch {
	case strings.TrimSpace(line.Text) == "":
		return line, errors.New(`"text" is missing or blank`)
	case line.Intent == "":
		return line, errors.New(`"intent" is missing or blank`)
	}
	return line, nil
}

// Unknown is a label that is not in the catalogue.
type Unknown struct {
	Intent string
	// N counts its lines, First is the number of the first.
	N, First int
}

// Resolve returns the lines with their ids written as the catalogue writes them,
// and the labels that it does not have, in order of their first line. Such lines
// stay: no answer to them is right.
func Resolve(lines []Line, catalog *intents.Catalog) ([]Line, []Unknown) {
	out := slices.Clone(lines)
	var unknown []Unknown
	position := map[string]int{}
	for i := range out {
		line := &out[i]
		if in, ok := catalog.Lookup(line.Intent); ok {
			line.Intent = in.ID
			continue
		}
		p, again := position[line.Intent]
		if !again {
			p = len(unknown)
			position[line.Intent] = p
			unknown = append(unknown, Unknown{Intent: line.Intent, First: line.Number})
		}
		unknown[p].N++
	}
	return out, unknown
}
