package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

var (
	codeSpans   = regexp.MustCompile("`([^`]+)`")
	codeLines   = regexp.MustCompile(`(?m)^(?: {4,}|\t)(.*)$`)
	fencedCode  = regexp.MustCompile("(?ms)^ *```[a-z]*\n(.*?)^ *```")
	commandLead = regexp.MustCompile(`^(?:\$ )?(?:sudo |exec |nice )?(?:[A-Z_]+=\S+ )*(?:go run \./cmd/consumer|\S*/consumer|consumer)(?: |$)`)
	flagNames   = regexp.MustCompile(`--[a-z][a-z-]*`)
)

// documentedCommands are the command lines of this program in a document's code,
// without the program's name.
func documentedCommands(markdown string) []string {
	var code []string
	for _, block := range fencedCode.FindAllStringSubmatch(markdown, -1) {
		code = append(code, strings.Split(block[1], "\n")...)
	}
	for _, found := range [][][]string{codeLines.FindAllStringSubmatch(markdown, -1), codeSpans.FindAllStringSubmatch(markdown, -1)} {
		for _, m := range found {
			code = append(code, m[1])
		}
	}
	var list []string
	for _, line := range code {
		line = strings.TrimSpace(line)
		lead := commandLead.FindString(line)
		if lead == "" || strings.HasPrefix(lead, "/") {
			continue
		}
		line = line[len(lead):]
		for _, end := range []string{" | ", " > ", " && ", " &", "; ", " # "} {
			line, _, _ = strings.Cut(line, end)
		}
		list = append(list, line)
	}
	return list
}

// unknownWords are the words of a documented command line that name no command, and
// the flags that its command does not have. Synopses are read too: "[--json]",
// "ls\|rm" and "…".
func unknownWords(program *kong.Node, line string) []string {
	node := program
	rest := strings.Fields(strings.ReplaceAll(line, `\|`, "|"))
	var unknown []string
	for len(rest) > 0 && len(node.Children) > 0 {
		names := strings.Split(strings.Trim(rest[0], "[],"), "|")
		if names[0] == "…" || strings.HasPrefix(names[0], "-") || names[0] == strings.ToUpper(names[0]) {
			break
		}
		for _, name := range names {
			if child(node, name) == nil {
				unknown = append(unknown, name)
			}
		}
		if len(unknown) > 0 || len(names) > 1 {
			return unknown
		}
		node, rest = child(node, names[0]), rest[1:]
	}
	for _, flag := range flagNames.FindAllString(strings.Join(rest, " "), -1) {
		if flag != "--help" && flag != "--version" && !hasFlag(node, strings.TrimPrefix(flag, "--")) {
			unknown = append(unknown, flag)
		}
	}
	return unknown
}

func child(node *kong.Node, name string) *kong.Node {
	for _, c := range node.Children {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c
		}
	}
	return nil
}

func hasFlag(node *kong.Node, name string) bool {
	if node.DefaultCmd != nil && hasFlag(node.DefaultCmd, name) {
		return true
	}
	for _, group := range node.AllFlags(false) {
		if slices.ContainsFunc(group, func(f *kong.Flag) bool { return f.Name == name }) {
			return true
		}
	}
	return false
}

func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commandLine{}, kong.Vars{"version": about()})
	require.NoError(t, err)
	found := 0
	require.NoError(t, filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "../.." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		markdown, err := os.ReadFile(name) //nolint:gosec // of the repository
		if err != nil {
			return err
		}
		for _, line := range documentedCommands(string(markdown)) {
			found++
			if unknown := unknownWords(parser.Model.Node, line); len(unknown) > 0 {
				t.Errorf("%s: consumer %s: unknown %q", name, line, unknown)
			}
		}
		return nil
	}))
	require.Greater(t, found, 100)
}

func TestUnknownWords(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&commandLine{}, kong.Vars{"version": about()})
	require.NoError(t, err)
	for _, test := range []struct {
		name, line string
		want       []string
	}{
		{"a command", "ask --session tour hello", nil},
		{"two words", "intents lint my-intents", nil},
		{"none", "--help", nil},
		{"the default command", "run", nil},
		{"a synopsis", `dlq replay [--hook H \| --seq N,… \| --all] [--yes]`, nil},
		{"alternatives", `triage examples ls\|rm`, nil},
		{"no such command", "intents lnt", []string{"lnt"}},
		{"one of two is none", `triage examples ls\|add`, []string{"add"}},
		{"no such flag", "ask --agents x", []string{"--agents"}},
		{"another command's flag", "dlq ls --seq 1", []string{"--seq"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, unknownWords(parser.Model.Node, test.line))
		})
	}
}
