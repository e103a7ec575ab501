// Constants counts the numeric constants of the product by folder, and lists those
// without a comment: each should say its unit and reason.
//
//	go -C tools run ./constants           a table by folder
//	go -C tools run ./constants -bare     those without a comment
//
// A constant is numeric if its value is written with a number and without a string.
// Tests, test helpers (folders whose names end in "test") and tools do not count.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "constants:", err)
		os.Exit(1)
	}
}

// constant is one numeric constant.
type constant struct {
	folder, place, name string
	bare                bool // without a comment
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("constants", flag.ContinueOnError)
	root := flags.String("root", "..", "folder of the product")
	bare := flags.Bool("bare", false, "list the constants without a comment")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := under(*root)
	if err != nil {
		return err
	}
	counts, total := map[string][2]int{}, [2]int{}
	for _, c := range all {
		n := counts[c.folder]
		n[0]++
		total[0]++
		if c.bare {
			n[1]++
			total[1]++
			if *bare {
				fmt.Fprintln(out, c.place, c.name)
			}
		}
		counts[c.folder] = n
	}
	if !*bare {
		byCount := func(a, b string) int { return cmp.Or(counts[b][0]-counts[a][0], strings.Compare(a, b)) }
		for _, folder := range slices.SortedFunc(maps.Keys(counts), byCount) {
			fmt.Fprintf(out, "%4d %s\n", counts[folder][0], folder)
		}
	}
	fmt.Fprintf(out, "%d numeric constants, %d without a comment\n", total[0], total[1])
	return nil
}

// under returns the constants of a tree, in the order of their places.
func under(root string) (out []constant, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "tools" || name == "node_modules" || strings.HasSuffix(name, "test")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, c := range in(fset, f) {
			c.folder = filepath.ToSlash(filepath.Dir(rel))
			c.place = filepath.ToSlash(rel) + ":" + c.place
			out = append(out, c)
		}
		return nil
	})
	return out, err
}

// in returns the constants of a file. A comment is that of the constant, of its
// group, or of a constant above it without a blank line between.
func in(fset *token.FileSet, f *ast.File) (out []constant) {
	ast.Inspect(f, func(n ast.Node) bool {
		group, ok := n.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			return true
		}
		said, before := false, 0
		for _, s := range group.Specs {
			spec := s.(*ast.ValueSpec)
			line := fset.Position(spec.Pos()).Line
			said = spec.Doc != nil || said && line == before+1
			before = fset.Position(spec.End()).Line
			for i, value := range spec.Values {
				if numeric(value) {
					out = append(out, constant{
						place: strconv.Itoa(line), name: spec.Names[i].Name,
						bare: !said && spec.Comment == nil && group.Doc == nil,
					})
				}
			}
		}
		return true
	})
	return out
}

// numeric reports whether an expression has a number and no string.
func numeric(e ast.Expr) bool {
	number, text := false, false
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok {
			number = number || literal.Kind == token.INT || literal.Kind == token.FLOAT
			text = text || literal.Kind == token.STRING
		}
		return true
	})
	return number && !text
}
