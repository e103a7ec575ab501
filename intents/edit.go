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

// errUneditable is returned for a list that cannot be edited without changing
// other parts of the file.
var errUneditable = errors.New("the list cannot be edited")

// errNotInFile is returned for an item that is not in the list of the file.
var errNotInFile = errors.New("not in the file")

// AppendExamples returns the intent file with more examples at the end of its
// list, which is created if it is missing. Nothing else changes, byte for byte.
// An example is one line that is neither blank nor surrounded by white space.
//
// The result is parsed before it is returned: either it is the same intent with
// the examples added, or there is an error.
func AppendExamples(data []byte, examples []string) ([]byte, error) {
	e, err := openEditor(data)
	if err != nil {
		return nil, err
	}
	for _, text := range examples {
		if err := isOneLine("example", text); err != nil {
			return nil, err
		}
	}
	if len(examples) == 0 {
		return data, nil
	}
	want := e.file
	want.Intent.Examples = slices.Concat(want.Intent.Examples, examples)
	return e.choose(e.candidates(examples), want)
}

// RemoveExample returns the intent file without the first example with the
// given text. Nothing else changes, unless the list is in brackets: that is
// rewritten. As with [AppendExamples], the result is parsed before it is
// returned. The error is errNotInFile for a text that is not an example of the
// file.
func RemoveExample(data []byte, example string) ([]byte, error) {
	e, err := openEditor(data)
	if err != nil {
		return nil, err
	}
	i := slices.Index(e.file.Intent.Examples, example)
	if i < 0 {
		return nil, fmt.Errorf("the example %q is %w", example, errNotInFile)
	}
	want := e.file
	want.Intent.Examples = slices.Delete(slices.Clone(want.Intent.Examples), i, i+1)
	return e.choose(e.exchanged("examples", example, ""), want)
}

// ReplaceTrigger returns the intent file with the trigger from replaced by to,
// one line of text, under the rules of [RemoveExample].
func ReplaceTrigger(data []byte, from, to string) ([]byte, error) {
	e, err := openEditor(data)
	if err != nil {
		return nil, err
	}
	if err := isOneLine("trigger", to); err != nil {
		return nil, err
	}
	i := slices.Index(e.file.Intent.Triggers, from)
	if i < 0 {
		return nil, fmt.Errorf("the trigger %q is %w", from, errNotInFile)
	}
	want := e.file
	want.Intent.Triggers = slices.Clone(want.Intent.Triggers)
	want.Intent.Triggers[i] = to
	return e.choose(e.exchanged("triggers", from, to), want)
}

// NewFile returns an intent file with an id, name, triggers, examples and prompt,
// every item one line of text. The result is parsed before it is returned: either it
// is that intent, without a fault, or there is an error.
func NewFile(in Intent) ([]byte, error) {
	for _, text := range slices.Concat([]string{in.ID, in.Name}, in.Triggers, in.Examples) {
		if err := isOneLine("text", text); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	b.WriteString("---\nid: " + in.ID + "\nname: " + blockScalar(in.Name) + "\n")
	for _, list := range []struct {
		name  string
		items []string
	}{{"triggers", in.Triggers}, {"examples", in.Examples}} {
		if len(list.items) > 0 {
			b.WriteString(list.name + ":\n")
		}
		for _, text := range list.items {
			b.WriteString("  - " + blockScalar(text) + "\n")
		}
	}
	b.WriteString("---\n" + in.Prompt + "\n")
	data := []byte(b.String())
	name := FileName(in.ID)
	file, faults := Parse(name, data)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].Line, faults[0].Reason)
	}
	want := in
	want.File = name
	if !sameIntent(file, File{Name: name, Intent: want, Enabled: true}) {
		return nil, errors.New("the intent cannot be written as a file")
	}
	return data, nil
}

// FileName is the name of the file of a new intent: its id in lower case, with - for
// characters that only ids may have.
func FileName(id string) string {
	return strings.Map(func(r rune) rune {
		if isIDPunctuation(r) {
			return '-'
		}
		return unicode.ToLower(r)
	}, id) + ".md"
}

// isOneLine returns an error for a text that is blank, surrounded by white
// space, or longer than a line.
func isOneLine(kind, text string) error {
	if text == "" || strings.TrimSpace(text) != text || strings.ContainsFunc(text, isControl) {
		return fmt.Errorf("the %s %q is not one line of text", kind, text)
	}
	return nil
}

// openEditor parses a file to edit it.
func openEditor(data []byte) (*editor, error) {
	// The name is used as the id if the file has none.
	const name = "intent.md"
	p := fileParser{name: name, file: File{Name: name, Enabled: true}}
	p.parse(data)
	if i := slices.IndexFunc(p.faults, func(f Fault) bool { return f.Severity == Error }); i >= 0 {
		return nil, fmt.Errorf("line %d: %s", p.faults[i].Line, p.faults[i].Reason)
	}
	return newEditor(p, data), nil
}

// choose returns the first candidate that parses as the file wanted, without faults
// that the file did not have.
func (e *editor) choose(candidates [][]byte, want File) ([]byte, error) {
	for _, edited := range candidates {
		after, found := Parse(want.Name, edited)
		if !HasErrors(found) && len(found) == len(e.faults) && sameIntent(after, want) {
			return edited, nil
		}
	}
	return nil, fmt.Errorf("%w: write it as one line each, beginning with \"- \"", errUneditable)
}

// exchanged returns versions of the file with one item of a list replaced, or
// removed if to is "", the most natural one first.
func (e *editor) exchanged(key, from, to string) (out [][]byte) {
	field := e.field(key)
	list, ok := e.resolve(field.Value).(*ast.SequenceNode)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(list.Values, func(n ast.Node) bool {
		text, ok := stringOf(e.resolve(n))
		return ok && strings.TrimSpace(text) == from
	})
	switch {
	case i < 0:
		return nil
	case list.IsFlowStyle:
		var items []string
		for k, n := range list.Values {
			text, _ := stringOf(e.resolve(n))
			if k == i {
				text = to
			}
			if text = strings.TrimSpace(text); text != "" {
				items = append(items, text)
			}
		}
		begin, end := e.offset(list.Start), e.offset(list.End)
		return [][]byte{slices.Concat(e.data[:begin+1], []byte(flowScalars(items)), e.data[min(end, len(e.data)):])}
	case i >= len(list.Entries) || list.Entries[i].Start == nil:
		return nil
	}
	first := max(list.Entries[i].Start.Position.Line, 1)
	next := e.endOf(field)
	if i+1 < len(list.Entries) && list.Entries[i+1].Start != nil {
		next = list.Entries[i+1].Start.Position.Line
	}
	line := ""
	if to != "" {
		line = e.indentOf(first) + "- " + blockScalar(to) + e.eol
	}
	for _, end := range slices.Compact([]int{e.afterContent(first, next), next}) {
		out = append(out, slices.Concat(e.data[:e.starts[first]], []byte(line), e.data[e.starts[end]:]))
	}
	return out
}

// endOf returns the line of the field after another one, or of the closing
// fence.
func (e *editor) endOf(field *ast.MappingValueNode) int {
	first, next := e.lineOf(field.Key), e.closing
	for _, f := range e.fields {
		if line := e.lineOf(f.Key); line > first {
			next = min(next, line)
		}
	}
	return next
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

// newEditor returns the editor of a parsed file that conforms to contract §7.
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

// candidates returns versions of the file with the examples added, the most
// natural one first.
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

// offset returns the position of a closing bracket. After a tag the parser's
// column is too small.
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

// inList extends a list of lines "- …".
func (e *editor) inList(field *ast.MappingValueNode, list *ast.SequenceNode, examples []string) [][]byte {
	first, next := e.lineOf(field.Key), e.endOf(field)
	text := e.items(columnIndent(list), examples)
	return e.insertAll(text, e.afterContent(first, next), next)
}

// items returns the lines of a list.
func (e *editor) items(indent string, examples []string) string {
	var b strings.Builder
	for _, text := range examples {
		b.WriteString(indent + "- " + blockScalar(text) + e.eol)
	}
	return b.String()
}

// itemIndent returns the indentation of a new list: that of the triggers.
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

// inBrackets extends a list in brackets.
func (e *editor) inBrackets(field *ast.MappingValueNode, bracket int, examples []string) (out [][]byte) {
	line, alone := slices.BinarySearch(e.starts, bracket)
	if alone || strings.TrimSpace(string(e.data[e.starts[line-1]:bracket])) == "" {
		out = append(out, e.ownLines(field, bracket, examples))
	}
	return append(out, e.insertBefore(bracket, flowScalars(examples)))
}

// ownLines puts each example on its own line before a bracket that is on its
// own line.
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

// insertBefore adds an entry after the existing ones, before a closing bracket.
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
// if every YAML parser reads it as a string.
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
