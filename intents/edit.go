package intents

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"intenthint/internal/text"
)

// ErrUneditable is returned by [AppendExamples] for a list of examples that cannot
// be extended by adding text alone.
var ErrUneditable = errors.New("the list of examples cannot be extended")

// AppendExamples returns the intent file with more examples at the end of its
// list, which is created if it is missing. Nothing else changes, byte for byte.
// An example is one line that is neither blank nor surrounded by white space.
//
// The result is parsed before it is returned: either it is the same intent with
// the examples added, or there is an error.
func AppendExamples(data []byte, examples []string) ([]byte, error) {
	// The name stands in for an id that the file leaves to its name.
	const name = "intent.md"
	p := fileParser{name: name, file: File{Name: name, Enabled: true}}
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
	for _, edited := range newEditor(p, data).candidates(examples) {
		if p.file.hasBecome(edited, p.faults, examples) {
			return edited, nil
		}
	}
	return nil, fmt.Errorf("%w: write it as one line each, beginning with \"- \"", ErrUneditable)
}

// hasBecome reports whether edited is the file with the examples added, without
// faults that it did not have.
func (f *File) hasBecome(edited []byte, faults []Fault, examples []string) bool {
	want := *f
	want.Intent.Examples = slices.Concat(f.Intent.Examples, examples)
	after, found := Parse(f.Name, edited)
	return !HasErrors(found) && len(found) == len(faults) && sameIntent(after, want)
}

// editor holds the positions of the parts of a file.
type editor struct {
	fileParser
	data []byte
	// starts are the offsets of the lines, counted from 0: line n of the front
	// matter, from 1 as the YAML parser counts, is starts[n].
	starts  []int
	closing int // the closing fence, counted like starts
	eol     string
}

// newEditor returns the editor of a file that holds to contract §7 and was parsed.
func newEditor(p fileParser, data []byte) *editor {
	starts := lineStarts(data)
	first := data[:starts[1]]
	eol := first[len(bytes.TrimRight(first, "\r\n")):]
	return &editor{fileParser: p, data: data, starts: starts, closing: p.closing - 1, eol: string(eol)}
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
	if i := slices.IndexFunc(e.fields, func(f *ast.MappingValueNode) bool { return keyOf(f.Key) == key }); i >= 0 {
		return e.fields[i]
	}
	return nil
}

// lineOf returns the line of a node, counted like starts.
func (e *editor) lineOf(n ast.Node) int { return max(e.fileParser.lineOf(n)-1, 1) }

// candidates are versions of the file with the examples added, the most natural
// one first.
func (e *editor) candidates(examples []string) [][]byte {
	field := e.field("examples")
	if field == nil {
		if m, ok := e.root.(*ast.MappingNode); ok && m.IsFlowStyle {
			return [][]byte{e.insertBefore(e.offset(m.End), "examples: ["+flowScalars(examples)+"]")}
		}
		return e.newField(examples)
	}
	switch value := e.resolve(field.Value).(type) {
	case *ast.SequenceNode:
		if value.IsFlowStyle {
			return e.inBrackets(field, e.offset(value.End), examples)
		}
		return e.inList(field, value, examples)
	case *ast.NullNode:
		return e.insertAll(e.items(e.itemIndent(), examples), e.lineOf(field.Key)+1)
	}
	return nil
}

// offset is where a closing bracket stands. After a tag the parser's column is too
// small.
func (e *editor) offset(bracket *token.Token) int {
	if bracket == nil || bracket.Position == nil || bracket.Position.Line >= e.closing {
		return e.starts[e.closing]
	}
	line := bracket.Position.Line
	at := e.starts[line] + len(text.Cut(e.line(line), bracket.Position.Column-1))
	return at + max(0, bytes.IndexByte(e.data[at:], bracket.Value[0]))
}

// newField begins a list at the end of the front matter.
func (e *editor) newField(examples []string) [][]byte {
	indent := ""
	if len(e.fields) > 0 {
		indent = e.indentOf(e.lineOf(e.fields[0].Key))
	}
	text := indent + "examples:" + e.eol + e.items(e.itemIndent(), examples)
	return e.insertAll(text, e.afterContent(1, e.closing), e.closing)
}

// inList goes on with a list of lines "- …".
func (e *editor) inList(field *ast.MappingValueNode, list *ast.SequenceNode, examples []string) [][]byte {
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
func (e *editor) insertAll(text string, lines ...int) (out [][]byte) {
	for _, n := range slices.Compact(lines) {
		out = append(out, e.insert(e.starts[n], text))
	}
	return out
}

func (e *editor) insert(at int, text string) []byte {
	return slices.Concat(e.data[:at], []byte(text), e.data[at:])
}

// inBrackets goes on with a list in brackets.
func (e *editor) inBrackets(field *ast.MappingValueNode, bracket int, examples []string) (out [][]byte) {
	line, alone := slices.BinarySearch(e.starts, bracket)
	if alone || strings.TrimSpace(string(e.data[e.starts[line-1]:bracket])) == "" {
		out = append(out, e.ownLines(field, bracket, examples))
	}
	return append(out, e.insertBefore(bracket, flowScalars(examples)))
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

// insertBefore puts one more entry behind those before a closing bracket.
func (e *editor) insertBefore(bracket int, text string) []byte {
	before := bytes.TrimRight(e.data[:bracket], " \t\r\n")
	switch before[len(before)-1] {
	case '[', '{':
	case ',':
		text = " " + text
	default:
		text = ", " + text
	}
	return e.insert(len(bytes.TrimRight(e.data[:bracket], " \t")), text)
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
