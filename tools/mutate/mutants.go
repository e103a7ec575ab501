package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Operators, in the order of the summary.
const (
	errorAsNil    = "error returned as nil"
	droppedCheck  = "error check dropped"
	negated       = "condition negated"
	noEarlyReturn = "early return removed"
	noLock        = "lock removed"
	offByOne      = "boundary off by one"
)

var operators = []string{errorAsNil, droppedCheck, negated, noEarlyReturn, noLock, offByOne}

// edit replaces the bytes from start to end of a file.
type edit struct {
	start, end int
	text       string
}

// mutant is one change of one file that its tests should notice.
type mutant struct {
	file     string // relative to the root
	line     int
	operator string
	source   string // the line, for the report
	edits    []edit // in the order of the file
}

// apply returns the source with the change.
func (m mutant) apply(source []byte) []byte {
	var out []byte
	last := 0
	for _, e := range m.edits {
		out = append(append(out, source[last:e.start]...), e.text...)
		last = e.end
	}
	return append(out, source[last:]...)
}

// mutantsOf returns the mutants of a Go file, none of one that is generated.
func mutantsOf(name string, source []byte) ([]mutant, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	f := &finder{name: name, files: files, lines: strings.Split(string(source), "\n"), source: source}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Body != nil {
			f.function(function.Type, function.Body)
		}
	}
	return f.found, nil
}

type finder struct {
	name   string
	files  *token.FileSet
	lines  []string
	source []byte
	found  []mutant
}

func (f *finder) add(operator string, at token.Pos, edits ...edit) {
	line := f.files.Position(at).Line
	f.found = append(f.found, mutant{f.name, line, operator, strings.TrimSpace(f.lines[line-1]), edits})
}

func (f *finder) offset(p token.Pos) int { return f.files.Position(p).Offset }

// over returns the edit that replaces a node.
func (f *finder) over(n ast.Node, text string) edit {
	return edit{f.offset(n.Pos()), f.offset(n.End()), text}
}

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

// function finds the mutants of a function. Functions in it are functions of their
// own: their returns and locks are not those of the outer one.
func (f *finder) function(signature *ast.FuncType, body *ast.BlockStmt) {
	results := results(signature)
	locks := map[string][]ast.Node{} // by receiver and kind
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.function(n.Type, n.Body)
			return false
		case *ast.ReturnStmt:
			f.returned(n, results)
		case *ast.IfStmt:
			f.condition(n)
		case *ast.BinaryExpr:
			f.boundary(n)
		case *ast.ExprStmt:
			if key, ok := f.lock(n.X); ok {
				locks[key] = append(locks[key], n)
			}
		case *ast.DeferStmt:
			if key, ok := f.lock(n.Call); ok {
				locks[key] = append(locks[key], n)
			}
			_, literal := n.Call.Fun.(*ast.FuncLit)
			return literal
		}
		return true
	})
	for _, statements := range locks {
		edits := make([]edit, len(statements))
		for i, s := range statements {
			edits[i] = f.over(s, "")
		}
		if len(edits) > 1 { // else the other half stands in another function
			f.add(noLock, statements[0].Pos(), edits...)
		}
	}
}

// results returns the number of results of a function that can fail, whose last
// result is an error; else 0.
func results(signature *ast.FuncType) int {
	if signature.Results == nil {
		return 0
	}
	list := signature.Results.List
	if last, ok := list[len(list)-1].Type.(*ast.Ident); !ok || last.Name != "error" {
		return 0
	}
	return signature.Results.NumFields()
}

func (f *finder) returned(r *ast.ReturnStmt, results int) {
	if results == 0 || len(r.Results) != results {
		return // named results, or one call for all of them
	}
	last := r.Results[len(r.Results)-1]
	if name, ok := last.(*ast.Ident); ok && name.Name == "nil" {
		return
	}
	if _, call := last.(*ast.CallExpr); call { // it is still made
		f.add(errorAsNil, r.Pos(), edit{f.offset(last.Pos()), f.offset(last.Pos()), "func(err error) error { return nil }("}, edit{f.offset(last.End()), f.offset(last.End()), ")"})
		return
	}
	edits := []edit{f.over(last, "nil")}
	if name, ok := last.(*ast.Ident); ok { // it may be used nowhere else
		edits = slices.Insert(edits, 0, edit{f.offset(r.Pos()), f.offset(r.Pos()), "_ = " + name.Name + "; "})
	}
	f.add(errorAsNil, r.Pos(), edits...)
}

func (f *finder) condition(n *ast.IfStmt) {
	wrap := func(before string) []edit {
		return []edit{{f.offset(n.Cond.Pos()), f.offset(n.Cond.Pos()), before}, {f.offset(n.Cond.End()), f.offset(n.Cond.End()), ")"}}
	}
	if comparison, ok := n.Cond.(*ast.BinaryExpr); ok && isError(comparison.X) && f.text(comparison.Y) == "nil" {
		if comparison.Op == token.NEQ {
			f.add(droppedCheck, n.Pos(), wrap("false && (")...)
		} else {
			f.add(droppedCheck, n.Pos(), wrap("true || (")...)
		}
		return
	}
	f.add(negated, n.Pos(), wrap("!(")...)
	if size := len(n.Body.List); size > 0 && n.Else == nil {
		if _, returns := n.Body.List[size-1].(*ast.ReturnStmt); returns {
			f.add(noEarlyReturn, n.Pos(), wrap("false && (")...)
		}
	}
}

// isError reports whether an expression has the name of an error.
func isError(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && (name.Name == "err" || strings.HasSuffix(name.Name, "Err") || name.Name == "failure")
}

var neighbours = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

func (f *finder) boundary(n *ast.BinaryExpr) {
	if other, ok := neighbours[n.Op]; ok {
		at := f.offset(n.OpPos)
		f.add(offByOne, n.OpPos, edit{at, at + len(n.Op.String()), other})
	}
}

// lock returns what a call locks or unlocks, as receiver and kind.
func (f *finder) lock(x ast.Expr) (key string, ok bool) {
	call, ok := x.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return "", false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	switch method.Sel.Name {
	case "Lock", "Unlock":
		return f.text(method.X) + " Lock", true
	case "RLock", "RUnlock":
		return f.text(method.X) + " RLock", true
	}
	return "", false
}

func byPlace(a, b mutant) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.operator, b.operator))
}
