package intents

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"intenthint/internal/panics"
	"intenthint/internal/text"
)

// Bounds of an intent file, in bytes.
const (
	maxFileBytes        = 1 << 20
	maxFrontMatterBytes = 256 << 10
	maxIDBytes          = 180

	// maxNesting protects the YAML parser, which recurses and takes quadratic
	// time in depth.
	maxNesting = 100
)

// File is an intent file that conforms to contract §7.
type File struct {
	// Name is the name of the file within its directory.
	Name   string
	Intent Intent
	// Enabled is false for a file with `enabled: false`.
	Enabled bool

	idLine        int
	triggerLines  []int   // parallel to Intent.Triggers
	examplePlaces []place // parallel to Intent.Examples
}

// Parse reads one intent file: YAML front matter between two lines `---`, then
// the prompt. The file can be used when none of the faults is an [Error];
// unknown fields, blank examples and a missing prompt are notices.
func Parse(name string, data []byte) (File, []Fault) { return parse(name, data) }

// parse is [Parse] for intent files and files of examples. The result for a file of
// examples has nothing else.
func parse(name string, data []byte) (File, []Fault) {
	p := fileParser{name: name, file: File{Name: name, Enabled: true}}
	if strings.HasSuffix(name, examplesSuffix) {
		p.readLines(data)
	} else {
		p.parse(data)
	}
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
	fields  []*ast.MappingValueNode
	anchors map[string]ast.Node
}

func (p *fileParser) report(severity Severity, line int, format string, args ...any) {
	p.faults = append(p.faults, Fault{File: p.name, Line: max(line, 1), Severity: severity, Reason: fmt.Sprintf(format, args...)})
}

func (p *fileParser) fail(line int, format string, args ...any) {
	p.report(Error, line, format, args...)
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// decode returns the text of a file, with line ends of \n.
func (p *fileParser) decode(data []byte) (text string, ok bool) {
	switch {
	case len(data) > maxFileBytes:
		p.fail(1, "%s", errTooLarge)
		return "", false
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		p.fail(1, "the file is UTF-16; it must be UTF-8")
		return "", false
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		switch {
		case !utf8.Valid(line):
			p.fail(number, "the file is not valid UTF-8")
			return "", false
		case bytes.IndexByte(line, 0) >= 0:
			p.fail(number, "the file contains a NUL character")
			return "", false
		}
	}
	return newlines.Replace(strings.TrimPrefix(string(data), "\ufeff")), true
}

func (p *fileParser) parse(data []byte) {
	text, ok := p.decode(data)
	if !ok {
		return
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
		p.report(Notice, p.closing, "no prompt after the front matter")
	}
	p.skills(body)
}

// skills reports lines of the prompt that begin a skill mention without naming
// a skill.
func (p *fileParser) skills(body string) {
	for _, m := range SkillMentions(body) {
		line := body[strings.LastIndexByte(body[:m.Start], '\n')+1 : m.Start]
		if m.Name == "" && strings.Trim(line, " \t-*`") == "" {
			p.report(Notice, p.closing+1+strings.Count(body[:m.Start], "\n"), "skill: without the name of a skill")
		}
	}
}

// split cuts the front matter from the body.
func (p *fileParser) split(text string) (front, body string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if !isFence(first) {
		p.fail(1, "no front matter: the first line must be ---")
		return "", "", false
	}
	number, at := 1, 0
	for line := range strings.Lines(rest) {
		number++
		if isFence(line) {
			p.closing = number
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	p.fail(1, "the front matter is not closed: a second line --- is missing")
	return "", "", false
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\n") == "---" }

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
	for i, doc := range tree.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		if i > 0 {
			p.fail(p.lineOf(doc.Body), "the front matter contains more than one YAML document")
			return
		}
		p.root = doc.Body
		switch n := doc.Body.(type) {
		case *ast.MappingNode:
			p.fields = n.Values
		case *ast.MappingValueNode:
			p.fields = []*ast.MappingValueNode{n}
		case *ast.CommentGroupNode, *ast.NullNode:
		default:
			p.fail(p.lineOf(doc.Body), "the front matter must be fields like `id: …`, not %s", kindOf(n))
			return
		}
	}
	p.readFields()
}

// tooDeep returns the first line, from 1, on which [maxNesting] is exceeded, or 0.
func tooDeep(front string) int {
	depth, number := 0, 0
	for line := range strings.Lines(front) {
		number++
		leading := line[:len(line)-len(strings.TrimLeft(line, "-?:!&*|> \t"))]
		indicators := len(leading) - strings.Count(leading, " ") - strings.Count(leading, "\t")
		depth += strings.Count(line, "[") + strings.Count(line, "{")
		if indicators > maxNesting || depth > maxNesting {
			return number
		}
		depth = max(0, depth-strings.Count(line, "]")-strings.Count(line, "}"))
	}
	return 0
}

// parseYAML turns a panic of the parser into an error: no file may crash the
// program.
func parseYAML(front string) (tree *ast.File, err error) {
	err = panics.Catch(func() (err error) {
		tree, err = parser.ParseBytes([]byte(front), 0)
		return err
	})
	return tree, err
}

func (p *fileParser) yamlError(err error) {
	line, message := 1, err.Error()
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		line, message = p.tokenLine(syntax.Token), syntax.Message
	}
	p.fail(line, "the front matter is not valid YAML: %s", text.Fold(message))
}

// tokenLine returns the line of a token within the file.
func (p *fileParser) tokenLine(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 1
	}
	return min(max(t.Position.Line, 1)+1, p.closing)
}

func (p *fileParser) lineOf(n ast.Node) int {
	if n == nil {
		return 1
	}
	return p.tokenLine(n.GetToken())
}

func (p *fileParser) readFields() {
	in := &p.file.Intent
	triggers := false
	var keywords []string // of the top level
	for _, field := range p.fields {
		line := p.lineOf(field.Key)
		key := keyOf(field.Key)
		value := p.resolve(field.Value)
		switch key {
		case "id":
			p.file.idLine = line
			if id, ok := p.text(key, line, value); ok {
				in.ID = id
				p.checkID(line, id, "")
			}
		case "name":
			in.Name = p.oneLine(key, line, value)
		case "domain":
			in.Domain = p.oneLine(key, line, value)
		case "enabled":
			p.enabled(line, value)
		case "triggers":
			triggers = true
			before := len(p.faults)
			in.Triggers, p.file.triggerLines = p.list(key, line, value)
			if len(in.Triggers) == 0 && !HasErrors(p.faults[before:]) {
				p.fail(line, "triggers must contain at least one string that is not blank")
			}
		case "examples":
			var lines []int
			in.Examples, lines = p.list(key, line, value)
			for _, n := range lines {
				p.file.examplePlaces = append(p.file.examplePlaces, place{p.name, n})
			}
		case "complexity":
			in.Complexity = p.complexity(line, value)
		case "fastpath":
			p.fastpath(line, value)
		case "keywords":
			if _, list := value.(*ast.SequenceNode); !list {
				p.report(Notice, line, "keywords is not a list and ignored")
				continue
			}
			keywords, _ = p.list(key, line, value)
			p.report(Warning, line, "keywords stands outside of fastpath and is read as fastpath.keywords")
		default:
			p.report(Notice, line, "the field %q is unknown and ignored", key)
		}
	}
	if p.file.idLine == 0 {
		p.file.idLine = 1
		in.ID = idOf(p.name)
		p.checkID(1, in.ID, ", made from the file's name,")
	}
	if !triggers {
		p.fail(1, "triggers is missing")
	}
	in.Name = cmp.Or(in.Name, nameOf(in.ID), in.ID)
	in.Fastpath.Keywords = append(in.Fastpath.Keywords, keywords...)
}

func keyOf(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return key.String()
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

// complexity returns the complexity that the intent's hints go by; "" for that
// of the classification.
func (p *fileParser) complexity(line int, value ast.Node) string {
	level, ok := p.text("complexity", line, value)
	switch level {
	case "", "auto":
		return ""
	case "low", "medium", "high", ComplexityNone:
		return level
	}
	if ok {
		p.fail(line, "complexity must be auto, low, medium, high or none, not %q", level)
	}
	return ""
}

// fastpath reads the field fastpath.
func (p *fileParser) fastpath(line int, value ast.Node) {
	var fields []*ast.MappingValueNode
	switch n := value.(type) {
	case *ast.MappingNode:
		fields = n.Values
	case *ast.MappingValueNode:
		fields = []*ast.MappingValueNode{n}
	case *ast.NullNode:
	default:
		p.fail(line, "fastpath must be fields like `keywords: [hello]`, not %s", kindOf(value))
	}
	fast := &p.file.Intent.Fastpath
	for _, field := range fields {
		line, value := p.lineOf(field.Key), p.resolve(field.Value)
		switch key := "fastpath." + keyOf(field.Key); key {
		case "fastpath.keywords":
			fast.Keywords, _ = p.list(key, line, value)
		case "fastpath.hint":
			fast.Hint, _ = p.text(key, line, value)
		default:
			p.report(Notice, line, "the field %q is unknown and ignored", key)
		}
	}
}

// oneLine returns the trimmed string of a field that must not have a second
// line.
func (p *fileParser) oneLine(key string, line int, value ast.Node) string {
	text, _ := p.text(key, line, value)
	if strings.ContainsFunc(text, isControl) {
		p.fail(line, "%s must be one line without control characters", key)
	}
	return text
}

// text returns the trimmed string of a field; ok is false for another type.
func (p *fileParser) text(key string, line int, value ast.Node) (text string, ok bool) {
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
