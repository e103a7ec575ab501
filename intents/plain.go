package intents

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// plainFields reads front matter that is written in the plainest way, which is
// how nearly all of it is:
//
//	key: some text
//	key: "some text"
//	key:
//	  - some text
//
// It is several times as fast as the YAML parser, which counts when the
// program starts. ok is false for everything else, however slightly other;
// that is left to the parser. What it accepts it reads as the parser does.
func plainFields(front string) (fields []*ast.MappingValueNode, ok bool) {
	var (
		list   *ast.SequenceNode // of the last field, when it has no value of its own
		indent int               // of the items of list; -1 before the first
		line   int
	)
	for text := range strings.Lines(front) {
		line++
		text = strings.TrimSuffix(text, "\n")
		if text == "" {
			continue
		}
		if item, spaces, isItem := plainItem(text); isItem {
			if list == nil || indent >= 0 && spaces != indent {
				return nil, false
			}
			indent = spaces
			value, ok := plainText(item, line)
			if !ok {
				return nil, false
			}
			list.Values = append(list.Values, value)
			continue
		}
		if list != nil && len(list.Values) == 0 {
			return nil, false
		}
		key, value, found := strings.Cut(text, ":")
		if !found || !isPlainKey(key) || hasField(fields, key) {
			return nil, false
		}
		field := &ast.MappingValueNode{Key: newString(key, line)}
		fields = append(fields, field)
		if value == "" {
			list, indent = &ast.SequenceNode{BaseNode: &ast.BaseNode{}}, -1
			field.Value = list
			continue
		}
		list = nil
		value, found = strings.CutPrefix(value, " ")
		if !found {
			return nil, false
		}
		if value == "true" || value == "false" {
			field.Value = &ast.BoolNode{BaseNode: &ast.BaseNode{}, Token: newToken(value, line), Value: value == "true"}
			continue
		}
		if field.Value, ok = plainText(value, line); !ok {
			return nil, false
		}
	}
	return fields, len(fields) > 0 && (list == nil || len(list.Values) > 0)
}

// plainItem returns the text of a line `- text` and how far it is indented.
func plainItem(text string) (item string, indent int, ok bool) {
	rest := strings.TrimLeft(text, " ")
	item, ok = strings.CutPrefix(rest, "- ")
	return item, len(text) - len(rest), ok
}

func isPlainKey(key string) bool {
	for i := range len(key) {
		if key[i] < 'a' || key[i] > 'z' {
			return false
		}
	}
	// In YAML these words are no strings.
	return key != "" && key != "null" && key != "true" && key != "false"
}

func hasField(fields []*ast.MappingValueNode, key string) bool {
	for _, f := range fields {
		if keyOf(f.Key) == key {
			return true
		}
	}
	return false
}

// plainText reads a scalar that can be nothing but a string: one in quotes
// without escapes, or one that begins as no other scalar does.
func plainText(text string, line int) (*ast.StringNode, bool) {
	if text == "" || text[0] == ' ' || text[len(text)-1] == ' ' {
		return nil, false
	}
	if hasOddRune(text) {
		return nil, false
	}
	switch text[0] {
	case '"':
		inner, closed := strings.CutSuffix(text[1:], `"`)
		if !closed || strings.ContainsAny(inner, "\"\\") {
			return nil, false
		}
		return newString(inner, line), true
	case '\'':
		inner, closed := strings.CutSuffix(text[1:], "'")
		if !closed || strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") {
			return nil, false
		}
		return newString(strings.ReplaceAll(inner, "''", "'"), line), true
	}
	if !beginsString(text) || strings.Contains(text, ": ") || strings.Contains(text, " #") || text[len(text)-1] == ':' {
		return nil, false
	}
	if strings.EqualFold(text, "null") || strings.EqualFold(text, "true") || strings.EqualFold(text, "false") {
		return nil, false
	}
	return newString(text, line), true
}

// beginsString says whether a scalar without quotes can be neither a number nor
// something that begins with an indicator.
func beginsString(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsLetter(first), first >= utf8.RuneSelf:
		return true
	case '0' <= first && first <= '9':
		// No number has a letter of another script.
		return strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	}
	return false
}

// hasOddRune says whether text holds what YAML may take for the end of a line,
// or for nothing printable.
func hasOddRune(text string) bool {
	for _, r := range text {
		if r < ' ' || r == '\u007f' || '\u0080' <= r && r <= '\u00a0' || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			return true
		}
	}
	return false
}

func newString(text string, line int) *ast.StringNode {
	// One allocation for what belongs together.
	n := &struct {
		node  ast.StringNode
		base  ast.BaseNode
		token token.Token
		at    token.Position
	}{at: token.Position{Line: line}}
	n.token = token.Token{Value: text, Position: &n.at}
	n.node = ast.StringNode{BaseNode: &n.base, Token: &n.token, Value: text}
	return &n.node
}

func newToken(text string, line int) *token.Token {
	return &token.Token{Value: text, Position: &token.Position{Line: line}}
}
