package intents

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"intenthint/internal/text"
)

// ErrUneditable is the error of [AppendExamples] for a file whose list of
// examples cannot be extended by adding text alone.
var ErrUneditable = errors.New("the list of examples cannot be extended")

// maxAttempts bounds the places that are tried in a file that is written in an
// unusual way; each costs a parse.
const maxAttempts = 100

// AppendExamples returns the intent file with more examples at the end of its
// list, which is created if it is missing. Nothing else changes, byte for byte.
// An example is one line that is neither blank nor surrounded by white space.
//
// YAML can be written in more ways than this code understands, so the result is
// parsed before it is returned: either it is the same intent with the examples
// added, or there is an error.
func AppendExamples(data []byte, examples []string) ([]byte, error) {
	p := fileParser{file: File{Enabled: true}}
	p.parse(data)
	if i := slices.IndexFunc(p.faults, func(f Fault) bool { return f.Severity == Error }); i >= 0 {
		return nil, fmt.Errorf("line %d: %s", p.faults[i].Line, p.faults[i].Reason)
	}
	for _, e := range examples {
		if e == "" || strings.TrimSpace(e) != e || strings.ContainsFunc(e, isControl) {
			return nil, fmt.Errorf("the example %q is not one line of text", e)
		}
	}
	if len(examples) == 0 {
		return data, nil
	}
	ed, err := newEditor(data, p.closing)
	if err != nil {
		return nil, err
	}
	attempts := 0
	for edited := range ed.attempts(examples) {
		if p.file.hasBecome(edited, p.faults, examples) {
			return edited, nil
		}
		if attempts++; attempts == maxAttempts {
			break
		}
	}
	return nil, fmt.Errorf("%w: write it as one line each, beginning with \"- \"", ErrUneditable)
}

// hasBecome reports whether edited is the file with the examples added, without
// faults that it did not have.
func (f *File) hasBecome(edited []byte, faults []Fault, examples []string) bool {
	after, found := Parse(f.Name, edited)
	a, b := after.Intent, f.Intent
	return !HasErrors(found) && len(found) == len(faults) && after.Enabled == f.Enabled &&
		a.ID == b.ID && a.Name == b.Name && a.Prompt == b.Prompt && slices.Equal(a.Triggers, b.Triggers) &&
		slices.Equal(a.Examples, slices.Concat(b.Examples, examples))
}

// editor holds the positions of the parts of a file.
type editor struct {
	data []byte
	// starts are the offsets of the lines, counted from 0: line n of the front
	// matter, from 1 as the YAML parser counts, is starts[n].
	starts []int
	// closing is the line of the closing fence.
	closing int
	eol     string
	fields  []*ast.MappingValueNode
	flow    bool // the fields stand in braces
}

// newEditor reads a file that holds to contract §7; closing is the line of its
// closing fence, from 1.
func newEditor(data []byte, closing int) (*editor, error) {
	e := &editor{data: data, starts: lineStarts(data), closing: closing - 1, eol: "\n"}
	switch first := data[:e.starts[1]]; {
	case bytes.HasSuffix(first, []byte("\r\n")):
		e.eol = "\r\n"
	case bytes.HasSuffix(first, []byte("\r")):
		e.eol = "\r"
	}
	tree, err := parseYAML(newlines.Replace(string(data[e.starts[1]:e.starts[e.closing]])))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUneditable, text.Fold(err.Error()))
	}
	for _, doc := range tree.Docs {
		switch n := doc.Body.(type) {
		case *ast.MappingNode:
			e.fields, e.flow = n.Values, n.IsFlowStyle
		case *ast.MappingValueNode:
			e.fields = []*ast.MappingValueNode{n}
		}
	}
	return e, nil
}

// lineStarts returns where lines begin; they end as in [Parse].
func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' || c == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (e *editor) field(key string) *ast.MappingValueNode {
	for _, f := range e.fields {
		if keyOf(f.Key) == key {
			return f
		}
	}
	return nil
}

// lineOf returns the line of a node, within the front matter.
func (e *editor) lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return min(max(t.Position.Line, 1), e.closing)
	}
	return 1
}

// attempts are versions of the file with the examples added, the most natural
// one first; each has yet to be read back.
func (e *editor) attempts(examples []string) iter.Seq[[]byte] {
	field := e.field("examples")
	if field == nil {
		if e.flow {
			return e.inBraces(examples)
		}
		return e.newField(examples)
	}
	value := field.Value
	for {
		switch v := value.(type) {
		case *ast.AnchorNode:
			value = v.Value
			continue
		case *ast.TagNode:
			value = v.Value
			continue
		case *ast.SequenceNode:
			if v.IsFlowStyle {
				return e.inBrackets(field, examples)
			}
			return e.inList(field, v, examples)
		case *ast.NullNode:
			return e.insertAll(e.items(e.itemIndent(), examples), e.lineOf(field.Key)+1)
		}
		return func(func([]byte) bool) {}
	}
}

// newField begins a list at the end of the front matter.
func (e *editor) newField(examples []string) iter.Seq[[]byte] {
	indent := ""
	if len(e.fields) > 0 {
		indent = e.indentOf(e.lineOf(e.fields[0].Key))
	}
	text := indent + "examples:" + e.eol + e.items(e.itemIndent(), examples)
	return e.insertAll(text, e.afterContent(1, e.closing), e.closing)
}

// inList goes on with a list of lines "- …".
func (e *editor) inList(field *ast.MappingValueNode, list *ast.SequenceNode, examples []string) iter.Seq[[]byte] {
	first := e.lineOf(field.Key)
	next := e.closing
	for _, f := range e.fields {
		if line := e.lineOf(f.Key); line > first {
			next = min(next, line)
		}
	}
	text := e.items(columnIndent(list), examples)
	return e.insertAll(text, e.afterContent(first, next), next)
}

// items are the lines of a list.
func (e *editor) items(indent string, examples []string) string {
	var b strings.Builder
	for _, text := range examples {
		b.WriteString(indent + "- " + blockScalar(text) + e.eol)
	}
	return b.String()
}

// itemIndent is how far a new list is indented: like that of the triggers.
func (e *editor) itemIndent() string {
	if f := e.field("triggers"); f != nil {
		if list, ok := f.Value.(*ast.SequenceNode); ok && !list.IsFlowStyle {
			return columnIndent(list)
		}
	}
	return e.indentOf(1) + "  "
}

func columnIndent(list *ast.SequenceNode) string {
	if list.Start == nil || list.Start.Position == nil {
		return "  "
	}
	return strings.Repeat(" ", max(0, list.Start.Position.Column-1))
}

// line returns the text of a line, without its end.
func (e *editor) line(n int) string {
	if n+1 < len(e.starts) {
		return strings.TrimRight(string(e.data[e.starts[n]:e.starts[n+1]]), "\r\n")
	}
	return string(e.data[e.starts[n]:])
}

func (e *editor) indentOf(n int) string {
	line := e.line(n)
	return line[:len(line)-len(strings.TrimLeft(line, " "))]
}

// afterContent returns the line after the last one, from first to before end,
// that is neither blank nor a comment.
func (e *editor) afterContent(first, end int) int {
	for n := end - 1; n > first; n-- {
		if text := strings.TrimSpace(e.line(n)); text != "" && text[0] != '#' {
			return n + 1
		}
	}
	return first + 1
}

// insertAll puts the text before each of the lines in turn.
func (e *editor) insertAll(text string, lines ...int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, n := range slices.Compact(lines) {
			if !yield(e.insert(e.starts[n], text)) {
				return
			}
		}
	}
}

func (e *editor) insert(at int, text string) []byte {
	return slices.Concat(e.data[:at], []byte(text), e.data[at:])
}

// inBraces begins a list in fields that stand in braces.
func (e *editor) inBraces(examples []string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for at := e.starts[e.closing] - 1; at > e.starts[1]; at-- {
			if e.data[at] == '}' && !yield(e.insert(e.tight(at), e.comma(at)+"examples: ["+flowScalars(examples)+"]")) {
				return
			}
		}
	}
}

// inBrackets goes on with a list in brackets. Which bracket closes it is found
// out by trying.
func (e *editor) inBrackets(field *ast.MappingValueNode, examples []string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		line := e.lineOf(field.Key)
		for at := e.starts[line]; at < e.starts[e.closing]; at++ {
			for line+1 < len(e.starts) && e.starts[line+1] <= at {
				line++
			}
			if e.data[at] != ']' {
				continue
			}
			alone := strings.TrimSpace(string(e.data[e.starts[line]:at])) == ""
			if alone && !yield(e.ownLines(field, at, examples)) {
				return
			}
			if !yield(e.insert(e.tight(at), e.comma(at)+flowScalars(examples))) {
				return
			}
		}
	}
}

// ownLines gives each example a line of its own before a bracket that has one.
func (e *editor) ownLines(field *ast.MappingValueNode, bracket int, examples []string) []byte {
	last := len(bytes.TrimRight(e.data[:bracket], " \t\r\n"))
	n, _ := slices.BinarySearch(e.starts, last)
	indent := e.indentOf(n - 1)
	if n-1 <= e.lineOf(field.Key) {
		indent += "  "
	}
	var b strings.Builder
	trailing := e.data[last-1] == ','
	if !trailing && e.data[last-1] != '[' {
		b.WriteByte(',')
	}
	for i, text := range examples {
		b.WriteString(e.eol + indent + singleQuoted(text))
		if trailing || i+1 < len(examples) {
			b.WriteByte(',')
		}
	}
	return e.insert(last, b.String())
}

// tight is the offset after what stands before a closing bracket on its line.
func (e *editor) tight(bracket int) int {
	return len(bytes.TrimRight(e.data[:bracket], " \t"))
}

// comma is what separates one more entry from those before a closing bracket.
func (e *editor) comma(bracket int) string {
	before := bytes.TrimRight(e.data[:bracket], " \t\r\n")
	switch before[len(before)-1] {
	case '[', '{':
		return ""
	case ',':
		return " "
	default:
		return ", "
	}
}

// blockScalar writes a text as a YAML string on one line: without quotes only
// when no YAML parser takes it for anything but a string.
func blockScalar(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	switch {
	case first < utf8.RuneSelf && !unicode.IsLetter(first),
		strings.Contains(text, ": "), strings.Contains(text, " #"), strings.HasSuffix(text, ":"),
		strings.ContainsAny(text, "\u00a0\ufeff"),
		strings.EqualFold(text, "null"), strings.EqualFold(text, "true"), strings.EqualFold(text, "false"):
		return singleQuoted(text)
	}
	return text
}

func flowScalars(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = singleQuoted(text)
	}
	return strings.Join(quoted, ", ")
}

func singleQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
