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
	"intenthint/payload"
)

// Line is one labelled message.
type Line struct {
	Text string `json:"text"`
	// Intent is an id; [intents.FallbackID] means out of scope.
	Intent string `json:"intent"`
	// Intents are all ids that are right, Intent first; nil if Intent is the only
	// one.
	Intents []string `json:"intents,omitempty"`
	// History is the conversation before the message, oldest turn first, as a
	// gateway sends it: not yet cleaned and cut.
	History []payload.Turn `json:"history,omitempty"`
	// Earlier holds the user's last recorded messages, oldest first. It is used only if
	// History has no message of the user, as in a running system (contract §5).
	Earlier []payload.Turn `json:"earlier,omitempty"`
	// Lang, Kind and Src put the line into groups, see [Groups].
	Lang Label `json:"lang,omitempty"`
	Kind Label `json:"kind,omitempty"`
	Src  Label `json:"src,omitempty"`
	// Complexity is how much work the message asks for: low, medium or high; "" where
	// nobody said.
	Complexity string `json:"complexity,omitempty"`
	// Number counts the lines of the file, from 1.
	Number int `json:"-"`
}

// ErrNoLines means that the data holds no message.
var ErrNoLines = errors.New("no lines to evaluate")

// maxBadLines bounds the lines that an error of [Parse] names.
const maxBadLines = 20

// LineError is a line that is not a labelled message.
type LineError struct {
	File string
	Line int
	Err  error
}

// Error is "file:line: reason", the form that editors jump to (contract §10).
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Parse reads JSON lines, {"text", "intent"} with optional "intents", "history" and
// "earlier" (contract §10). Items of the latter two are {"role", "text"}, or messages as a
// gateway sends them, {"role", "content"} (contract §5). "lang",
// "kind" and "src" are the labels of [Groups], "complexity" is low, medium or high. Parse skips blank lines and other fields. Its error is [ErrNoLines], with the file's name, or joins a [LineError]
// for each bad line: if there are many, only the first ones and the number of the
// others.
func Parse(name string, data []byte) ([]Line, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var (
		lines  []Line
		bad    []error
		number int
		more   int
	)
	for raw := range bytes.Lines(data) {
		number++
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 {
			continue
		}
		line, err := parseLine(raw)
		switch {
		case err == nil:
		case len(bad) < maxBadLines:
			bad = append(bad, &LineError{name, number, err})
			continue
		default:
			more++
			continue
		}
		line.Number = number
		lines = append(lines, line)
	}
	if more > 0 {
		bad = append(bad, fmt.Errorf("%s: %d more bad lines", name, more))
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrNoLines)
	}
	return lines, nil
}

func parseLine(raw []byte) (Line, error) {
	if !utf8.Valid(raw) {
		return Line{}, errors.New("not UTF-8")
	}
	type turns []struct {
		Role    *string         `json:"role"`
		Text    *string         `json:"text"`
		Content json.RawMessage `json:"content"` // as in a gateway's messages
	}
	var in struct {
		Line
		History turns `json:"history"`
		Earlier turns `json:"earlier"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Line{}, shapeError(err)
	}
	line := in.Line
	if strings.TrimSpace(line.Text) == "" {
		return Line{}, errors.New(`"text" is missing or blank`)
	}
	if err := line.label(); err != nil {
		return Line{}, err
	}
	if !slices.Contains(append(levels[:], ""), line.Complexity) {
		return Line{}, fmt.Errorf(`"complexity" must be low, medium or high, not %q`, line.Complexity)
	}
	for _, said := range []struct {
		name string
		in   turns
		to   *[]payload.Turn
	}{{"history", in.History, &line.History}, {"earlier", in.Earlier, &line.Earlier}} {
		for i, t := range said.in {
			text := t.Text
			if text == nil {
				text = contentText(t.Content)
			}
			if t.Role == nil || text == nil {
				return Line{}, fmt.Errorf(`%q: item %d has no "role" or no "text"`, said.name, i+1)
			}
			*said.to = append(*said.to, payload.Turn{Role: *t.Role, Text: *text})
		}
	}
	return line, nil
}

// contentText returns the text of a message's content, a string or a list of parts;
// nil if it is neither.
func contentText(content json.RawMessage) *string {
	if len(content) == 0 || content[0] != '"' && content[0] != '[' {
		return nil
	}
	text := strings.Join(payload.Content(content).Texts(), "\n")
	return &text
}

// shapeError describes a JSON error in terms of the data.
func shapeError(err error) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		switch field, _, _ := strings.Cut(strings.TrimPrefix(kind.Field, "Line."), "."); field {
		case "history", "earlier":
			return fmt.Errorf(`%q must be a list of {"role": "…", "text": "…"}, not %s`, field, kind.Value)
		case "intents":
			return fmt.Errorf(`"intents" must be a list of ids, not %s`, kind.Value)
		case "complexity":
			return fmt.Errorf(`"complexity" must be low, medium or high, not %s`, kind.Value)
		case "text", "intent":
			return fmt.Errorf(`not an object {"text": "…", "intent": "…"}: %q is of type %s`, field, kind.Value)
		case "":
			return fmt.Errorf(`not an object {"text": "…", "intent": "…"} but of type %s`, kind.Value)
		}
	}
	return fmt.Errorf(`not an object {"text": "…", "intent": "…"}: %w`, err)
}

// label normalises the two fields with ids.
func (l *Line) label() error {
	l.Intent = strings.TrimSpace(l.Intent)
	var all []string
	if l.Intent != "" {
		all = append(all, l.Intent)
	}
	for _, id := range l.Intents {
		if id = strings.TrimSpace(id); id == "" {
			return errors.New(`"intents" contains a blank id`)
		}
		all = append(all, id)
	}
	if len(all) == 0 {
		return errors.New(`"intent" is missing or blank`)
	}
	l.setLabels(all)
	return nil
}

// labels returns the ids that are right, at least one.
func (l *Line) labels() []string {
	if len(l.Intents) > 0 {
		return l.Intents
	}
	return []string{l.Intent}
}

// setLabels sets the ids that are right, without duplicates.
func (l *Line) setLabels(ids []string) {
	var unique []string
	for _, id := range ids {
		if !slices.Contains(unique, id) {
			unique = append(unique, id)
		}
	}
	l.Intent, l.Intents = unique[0], nil
	if len(unique) > 1 {
		l.Intents = unique
	}
}

// Unknown is a name in the data that has no meaning here, such as a label that is
// not in the catalogue.
type Unknown struct {
	Name string
	// N counts its uses, First is the number of the first line with it.
	N, First int
}

// Resolve returns the lines with their ids spelled as in the catalogue, and the
// labels that are not in the catalogue, in order of their first line. Such
// labels are kept: no answer equals them.
func Resolve(lines []Line, catalog *intents.Catalog) ([]Line, []Unknown) {
	out := slices.Clone(lines)
	var unknown tally
	for i := range out {
		ids := slices.Clone(out[i].labels())
		for k, id := range ids {
			if in, ok := catalog.Lookup(id); ok {
				ids[k] = in.ID
				continue
			}
			unknown.add(id, out[i].Number)
		}
		out[i].setLabels(ids)
	}
	return out, unknown.found
}

// ForeignRoles returns the roles in histories that are neither user nor
// assistant, in order of their first line: no classifier sees such turns
// (contract §5). N counts turns.
func ForeignRoles(lines []Line) []Unknown {
	var foreign tally
	for i := range lines {
		for _, t := range lines[i].History {
			if t.Role != payload.RoleUser && t.Role != payload.RoleAssistant {
				foreign.add(t.Role, lines[i].Number)
			}
		}
	}
	return foreign.found
}

// tally counts names in order of their first line.
type tally struct {
	found    []Unknown
	position map[string]int
}

func (t *tally) add(name string, line int) {
	p, again := t.position[name]
	if !again {
		if t.position == nil {
			t.position = map[string]int{}
		}
		p = len(t.found)
		t.position[name] = p
		t.found = append(t.found, Unknown{Name: name, First: line})
	}
	t.found[p].N++
}
