package intents

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"intenthint/internal/text"
)

// Bounds of an intent file, in bytes.
const (
	maxFileBytes        = 1 << 20
	maxFrontMatterBytes = 256 << 10
	maxIDBytes          = 200

	// maxNesting keeps the YAML parser, which recurses and is quadratic in
	// depth, away from input that no author writes.
	maxNesting = 100
)

// File is an intent file that holds to contract §7.
type File struct {
	// Name is the name of the file within its directory.
	Name   string
	Intent Intent
	// Enabled is false for a file with `enabled: false`.
	Enabled bool

	idLine       int
	exampleLines []int // parallel to Intent.Examples
}

// Parse reads one intent file: YAML front matter between two lines `---`, then
// the prompt. The file can be used when none of the faults is an [Error];
// unknown fields, blank examples and a missing prompt are notices.
func Parse(name string, data []byte) (File, []Fault) {
	p := fileParser{name: name, file: File{Name: name, Enabled: true}}
	p.parse(data)
	sortFaults(p.faults)
	if HasErrors(p.faults) {
		return File{}, p.faults
	}
	return p.file, p.faults
}

type fileParser struct {
	name    string
	file    File
	faults  []Fault
	closing int // line of the closing fence
	root    ast.Node
	anchors map[string]ast.Node
}

func (p *fileParser) report(severity Severity, line int, format string, args ...any) {
	p.faults = append(p.faults, Fault{File: p.name, Line: max(line, 1), Severity: severity, Reason: fmt.Sprintf(format, args...)})
}

func (p *fileParser) fail(line int, format string, args ...any) {
	p.report(Error, line, format, args...)
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (p *fileParser) parse(data []byte) {
	switch {
	case len(data) > maxFileBytes:
		p.fail(1, "the file is larger than %d bytes", maxFileBytes)
		return
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		p.fail(1, "the file is UTF-16; it must be UTF-8")
		return
	}
	if at := invalidUTF8(data); at >= 0 {
		p.fail(1+bytes.Count(data[:at], []byte("\n")), "the text is not valid UTF-8")
		return
	}
	if before, _, ok := bytes.Cut(data, []byte{0}); ok {
		p.fail(1+bytes.Count(before, []byte("\n")), "the text holds a NUL character")
		return
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if strings.IndexByte(text, '\r') >= 0 {
		text = newlines.Replace(text)
	}
	if strings.TrimSpace(text) == "" {
		p.fail(1, "the file is empty")
		return
	}
	front, body, ok := p.split(text)
	if !ok {
		return
	}
	p.frontMatter(front)
	p.file.Intent.File = p.name
	p.file.Intent.Prompt = strings.TrimSpace(body)
	if p.file.Intent.Prompt == "" {
		p.report(Notice, p.closing, "there is no prompt after the front matter")
	}
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// split cuts the front matter from the body.
func (p *fileParser) split(text string) (front, body string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if !isFence(first) {
		p.fail(1, "there is no front matter: the first line must be ---")
		return "", "", false
	}
	line := 2
	for at := 0; at < len(rest); line++ {
		next, _, more := strings.Cut(rest[at:], "\n")
		end := at + len(next)
		if isFence(next) {
			p.closing = line
			if more {
				body = rest[end+1:]
			}
			return rest[:at], body, true
		}
		if !more {
			break
		}
		at = end + 1
	}
	p.fail(1, "the front matter is not closed: a second line --- is missing")
	return "", "", false
}

func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

func (p *fileParser) frontMatter(front string) {
	if len(front) > maxFrontMatterBytes {
		p.fail(1, "the front matter is larger than %d bytes", maxFrontMatterBytes)
		return
	}
	if line := tooDeep(front); line > 0 {
		p.fail(1+line, "the front matter is nested more than %d deep", maxNesting)
		return
	}
	tree, err := parseYAML(front)
	if err != nil {
		p.yamlError(err)
		return
	}
	var fields []*ast.MappingValueNode
	for i, doc := range tree.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		if i > 0 {
			p.fail(p.lineOf(doc.Body), "the front matter holds more than one YAML document")
			return
		}
		p.root = doc.Body
		switch n := doc.Body.(type) {
		case *ast.MappingNode:
			fields = n.Values
		case *ast.MappingValueNode:
			fields = []*ast.MappingValueNode{n}
		case *ast.CommentGroupNode, *ast.NullNode:
		default:
			p.fail(p.lineOf(doc.Body), "the front matter must be fields like `id: …`, not %s", kindOf(n))
			return
		}
	}
	p.fields(fields)
}

// tooDeep returns the line, from 1, on which nesting goes beyond what an
// author writes, or 0.
func tooDeep(front string) int {
	depth, line := 0, 1
	for text := range strings.Lines(front) {
		indicators := 0
	leading:
		for i := range len(text) {
			switch text[i] {
			case '-', '?', ':', '!', '&', '*', '|', '>':
				indicators++
			case ' ', '\t':
			default:
				break leading
			}
		}
		depth += strings.Count(text, "[") + strings.Count(text, "{")
		if indicators > maxNesting || depth > maxNesting {
			return line
		}
		depth = max(0, depth-strings.Count(text, "]")-strings.Count(text, "}"))
		line++
	}
	return 0
}

var errYAMLPanic = errors.New("YAML parser panic")

// parseYAML answers a panic of the parser with an error: a file of an operator
// must not end the program.
func parseYAML(front string) (tree *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			tree, err = nil, fmt.Errorf("%w: %v", errYAMLPanic, r)
		}
	}()
	return parser.ParseBytes([]byte(front), 0)
}

func (p *fileParser) yamlError(err error) {
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		line := 1
		if t := syntax.Token; t != nil && t.Position != nil {
			line = p.fileLine(t.Position.Line)
		}
		p.fail(line, "the front matter is not valid YAML: %s", text.Fold(syntax.Message))
		return
	}
	p.fail(1, "the front matter is not valid YAML: %s", text.Fold(err.Error()))
}

// fileLine turns a line of the front matter into one of the file.
func (p *fileParser) fileLine(line int) int { return min(max(line, 1)+1, p.closing) }

func (p *fileParser) lineOf(n ast.Node) int {
	if n == nil {
		return 1
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return 1
	}
	return p.fileLine(t.Position.Line)
}

func (p *fileParser) fields(fields []*ast.MappingValueNode) {
	in := &p.file.Intent
	seen := make(map[string]bool, len(fields))
	for _, field := range fields {
		line := p.lineOf(field.Key)
		key := keyOf(field.Key)
		value := p.resolve(field.Value)
		switch key {
		case "id":
			seen[key] = true
			p.file.idLine = line
			if id, ok := p.text(key, line, value); ok {
				in.ID = p.id(line, id)
			}
		case "name":
			if name, ok := p.text(key, line, value); ok {
				in.Name = name
				if strings.ContainsFunc(name, isControl) {
					p.fail(line, "name must be one line without control characters")
				}
			}
		case "enabled":
			p.enabled(line, value)
		case "triggers":
			seen[key] = true
			before := len(p.faults)
			in.Triggers, _ = p.list(key, line, value)
			if len(in.Triggers) == 0 && !HasErrors(p.faults[before:]) {
				p.fail(line, "triggers must hold at least one string that is not blank")
			}
		case "examples":
			in.Examples, p.file.exampleLines = p.list(key, line, value)
		default:
			p.report(Notice, line, "the field %q is unknown and ignored", key)
		}
	}
	if !seen["id"] {
		p.fail(1, "id is missing")
	}
	if !seen["triggers"] {
		p.fail(1, "triggers is missing")
	}
	if in.Name == "" {
		in.Name = in.ID
	}
}

func keyOf(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return key.String()
}

// id checks an id. The model answers "ID (Name)" on one line and is cut at the
// first parenthesis, so an id must survive that.
func (p *fileParser) id(line int, id string) string {
	switch {
	case id == "":
		p.fail(line, "id must not be blank")
	case len(id) > maxIDBytes:
		p.fail(line, "id is longer than %d bytes", maxIDBytes)
	default:
		for _, r := range id {
			if r == '(' || isControl(r) {
				p.fail(line, "id %q must not hold %q", id, r)
				break
			}
		}
	}
	return id
}

func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func (p *fileParser) enabled(line int, value ast.Node) {
	switch n := value.(type) {
	case *ast.BoolNode:
		p.file.Enabled = n.Value
	case *ast.NullNode:
	default:
		p.fail(line, "enabled must be true or false, not %s", kindOf(value))
	}
}

// text returns the trimmed string of a field; ok is false for none.
func (p *fileParser) text(key string, line int, value ast.Node) (text string, ok bool) {
	if _, null := value.(*ast.NullNode); null {
		if key == "id" {
			p.fail(line, "id must not be blank")
		}
		return "", false
	}
	text, ok = stringOf(value)
	if !ok {
		p.fail(line, "%s must be a string, not %s%s", key, kindOf(value), quoteAdvice(value))
	}
	return strings.TrimSpace(text), ok
}

// list returns the strings of a field that are not blank, and their lines.
func (p *fileParser) list(key string, line int, value ast.Node) (items []string, lines []int) {
	var values []ast.Node
	switch n := value.(type) {
	case *ast.SequenceNode:
		values = n.Values
	case *ast.NullNode:
		return nil, nil
	default:
		p.fail(line, "%s must be a list of strings, not %s", key, kindOf(value))
		return nil, nil
	}
	items, lines = make([]string, 0, len(values)), make([]int, 0, len(values))
	for i, v := range values {
		at := p.lineOf(v)
		v = p.resolve(v)
		if _, null := v.(*ast.NullNode); null {
			p.report(Notice, at, "%s: item %d is blank and ignored", key, i+1)
			continue
		}
		text, ok := stringOf(v)
		if !ok {
			p.fail(at, "%s: item %d must be a string, not %s%s", key, i+1, kindOf(v), quoteAdvice(v))
			continue
		}
		if text = strings.TrimSpace(text); text == "" {
			p.report(Notice, at, "%s: item %d is blank and ignored", key, i+1)
			continue
		}
		items, lines = append(items, text), append(lines, at)
	}
	return items, lines
}

// resolve follows anchors, aliases and tags to the value they stand for; one
// that leads nowhere is returned as it is.
func (p *fileParser) resolve(n ast.Node) ast.Node {
	const maxSteps = 8
	for range maxSteps {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.AliasNode:
			target, ok := p.anchored(v)
			if !ok {
				return v
			}
			n = target
		case *ast.TagNode:
			if v.Start != nil && v.Start.Value == "!!str" {
				if s, ok := v.Value.(ast.ScalarNode); ok && s.GetToken() != nil {
					if text, isString := stringOf(s); isString {
						return &ast.StringNode{BaseNode: &ast.BaseNode{}, Token: s.GetToken(), Value: text}
					}
					return &ast.StringNode{BaseNode: &ast.BaseNode{}, Token: s.GetToken(), Value: s.GetToken().Value}
				}
			}
			n = v.Value
		case nil:
			return ast.Null(nil)
		default:
			return v
		}
	}
	return n
}

func (p *fileParser) anchored(alias *ast.AliasNode) (ast.Node, bool) {
	if p.anchors == nil {
		p.anchors = map[string]ast.Node{}
		ast.Walk(anchorCollector(p.anchors), p.root)
	}
	if alias.Value == nil || alias.Value.GetToken() == nil {
		return nil, false
	}
	n, ok := p.anchors[alias.Value.GetToken().Value]
	return n, ok
}

type anchorCollector map[string]ast.Node

// Visit implements [ast.Visitor].
func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil && a.Name.GetToken() != nil {
		c[a.Name.GetToken().Value] = a.Value
	}
	return c
}

func stringOf(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		if v.Value == nil {
			return "", true
		}
		return v.Value.Value, true
	}
	return "", false
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "a string"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "null"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.AliasNode:
		return "an alias of nothing"
	default:
		return "something else"
	}
}

func quoteAdvice(n ast.Node) string {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode:
		return "; put it in quotes"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "; text with a colon goes in quotes"
	default:
		return ""
	}
}
