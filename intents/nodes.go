package intents

import "github.com/goccy/go-yaml/ast"

// resolve follows anchors, aliases and tags to a value. An undefined alias is
// returned unchanged.
func (p *fileParser) resolve(n ast.Node) ast.Node {
	const maxSteps = 8 // aliases of aliases may form a ring
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
			n = v.Value
			if s, scalar := n.(ast.ScalarNode); scalar && kindOf(s) != "a string" && v.Start.Value == "!!str" && s.GetToken() != nil {
				return ast.String(s.GetToken())
			}
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
		for _, n := range ast.Filter(ast.AnchorType, p.root) {
			if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil && a.Name.GetToken() != nil {
				p.anchors[a.Name.GetToken().Value] = a.Value
			}
		}
	}
	if alias.Value == nil || alias.Value.GetToken() == nil {
		return nil, false
	}
	n, ok := p.anchors[alias.Value.GetToken().Value]
	return n, ok
}

// stringOf returns the text of a string; null is "".
func stringOf(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		if v.Value == nil {
			return "", true
		}
		return v.Value.Value, true
	case *ast.NullNode:
		return "", true
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
		return "an undefined alias"
	default:
		return "something else"
	}
}

func quoteAdvice(n ast.Node) string {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode:
		return "; put it in quotes"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "; put text with a colon in quotes"
	default:
		return ""
	}
}
