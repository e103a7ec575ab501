// Package reference makes completions for shells and the manual page from the model
// of the command line. Its functions are pure.
package reference

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// command is a command, or the program itself.
type command struct {
	// Path is the program's name and those of the commands: "consumer sessions rm".
	Path string
	*kong.Node
}

// commandsOf returns the program and all of its commands that are not hidden, each
// before its own.
func commandsOf(app *kong.Application) []command {
	var out []command
	var add func(path string, n *kong.Node)
	add = func(path string, n *kong.Node) {
		out = append(out, command{path, n})
		for _, child := range n.Children {
			if child.Type == kong.CommandNode && !child.Hidden {
				add(path+" "+child.Name, child)
			}
		}
	}
	add(app.Name, app.Node)
	return out
}

// item is a word that may come next, with what it means.
type item struct{ Word, Help string }

// items returns the words that may follow a command: its own commands, its flags,
// and the values that an argument may have.
func (c command) items() []item {
	var out []item
	for _, child := range c.Children {
		if !child.Hidden {
			out = append(out, item{child.Name, child.Help})
		}
	}
	for _, p := range c.Positional {
		if p.Enum != "" {
			for _, value := range p.EnumSlice() {
				out = append(out, item{value, p.Help})
			}
		}
	}
	for _, f := range c.flags() {
		out = append(out, item{"--" + f.Name, f.Help})
	}
	return out
}

// flags returns the flags of a command itself, and those of the program.
func (c command) flags() []*kong.Flag {
	var out []*kong.Flag
	for _, group := range c.AllFlags(true) {
		out = append(out, group...)
	}
	if c.Type != kong.ApplicationNode { // --version is of the program alone
		out = slices.DeleteFunc(out, func(f *kong.Flag) bool { return f.Name == "version" })
	}
	return out
}

// words joins the words of items.
func words(items []item) string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.Word
	}
	return strings.Join(out, " ")
}
