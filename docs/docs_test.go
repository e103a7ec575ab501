package docs_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the repository's.
const root = ".."

var (
	fence      = regexp.MustCompile("(?ms)^ {0,3}```.*?^ {0,3}```[^\n]*\n?")
	codeSpan   = regexp.MustCompile("`[^`]+`")
	inlineLink = regexp.MustCompile(`\[([^\]]*)\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)`)
	listItem   = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`)
	sentence   = regexp.MustCompile(`[.!?]["”)*]*(?:\s+|$)`)
)

// withoutCode leaves out fenced and indented blocks, and puts one word in place of
// each code span.
func withoutCode(markdown string) string {
	var b strings.Builder
	blank, inCode, inList := true, false, false
	for line := range strings.Lines(fence.ReplaceAllString(markdown, "\n")) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.TrimSpace(line) == "":
			blank = true
			b.WriteByte('\n')
			continue
		case listItem.MatchString(line) && !inCode:
			inList = true
		case indent == 0:
			inList = false
		}
		code := 4 // the blanks that make a block of code; in a list they make a paragraph
		if inList {
			code = 6
		}
		inCode = indent >= code && (blank || inCode)
		blank = false
		if !inCode {
			b.WriteString(line)
		}
	}
	return codeSpan.ReplaceAllString(b.String(), "code")
}

// anchors are the ids that GitHub gives to the headings of a document: lower case,
// letters, digits, "-" and "_", a hyphen for each blank, and a number behind one that
// occurs again.
func anchors(markdown string) []string {
	var ids []string
	seen := map[string]int{}
	for line := range strings.Lines(fence.ReplaceAllString(markdown, "\n")) {
		title := strings.TrimLeft(line, "#")
		if depth := len(line) - len(title); depth == 0 || depth > 6 || !strings.HasPrefix(title, " ") {
			continue
		}
		title = inlineLink.ReplaceAllString(strings.TrimSpace(title), "$1")
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		n := seen[id]
		seen[id]++
		if n > 0 {
			id = fmt.Sprintf("%s-%d", id, n)
		}
		ids = append(ids, id)
	}
	return ids
}

// broken are the relative links of a document that lead nowhere.
func broken(name string) ([]string, error) {
	markdown, err := os.ReadFile(name) //nolint:gosec // a document of the repository
	if err != nil {
		return nil, err
	}
	var list []string
	for _, link := range inlineLink.FindAllStringSubmatch(withoutCode(string(markdown)), -1) {
		to, err := url.Parse(link[2])
		switch {
		case err != nil:
			list = append(list, link[2])
		case to.IsAbs() || to.Host != "":
		case !resolves(name, to):
			list = append(list, link[2])
		}
	}
	return list, nil
}

func resolves(from string, to *url.URL) bool {
	target := from
	if to.Path != "" {
		target = filepath.Join(filepath.Dir(from), filepath.FromSlash(to.Path))
	}
	if _, err := os.Stat(target); err != nil {
		return false
	}
	if to.Fragment == "" {
		return true
	}
	markdown, err := os.ReadFile(target) //nolint:gosec // a file of the repository
	return err == nil && strings.HasSuffix(target, ".md") && slices.Contains(anchors(string(markdown)), to.Fragment)
}

// documents are the repository's own Markdown files: none of tests' data, of
// packages that were installed, or of hidden directories.
func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "testdata"}, d.Name())) {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".md") {
			list = append(list, name)
		}
		return nil
	}))
	return list
}

func TestLinksResolve(t *testing.T) {
	list := documents(t)
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "docs/figures.md", "deploy/README.md", "openclaw-plugin/README.md"} {
		require.Contains(t, list, filepath.Join(root, filepath.FromSlash(name)))
	}
	for _, name := range list {
		links, err := broken(name)
		require.NoError(t, err)
		assert.Empty(t, links, "%s links to what is not there", name)
	}
}

func TestBroken(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a file", "[a](other.md)", ""},
		{"a directory", "[a](sub)", ""},
		{"no file", "[a](nothing.md)", "nothing.md"},
		{"a file above", "[a](../sub/../other.md)", "../sub/../other.md"},
		{"an anchor elsewhere", "[a](other.md#its-own-heading)", ""},
		{"none elsewhere", "[a](other.md#another)", "other.md#another"},
		{"an anchor here", "# Two `words`, here\n\n[a](#two-words-here)", ""},
		{"none here", "# Two\n\n[a](#three)", "#three"},
		{"a second heading of a name", "# A\n\n# A\n\n[a](#a-1)", ""},
		{"a comment of a block is no heading", "```\n# A\n```\n\n[a](#a)", "#a"},
		{"an anchor in what is no document", "[a](sub/x.go#L1)", "sub/x.go#L1"},
		{"an image", "![a](nothing.png)", "nothing.png"},
		{"a title", `[a](nothing.md "Title")`, "nothing.md"},
		{"another site", "[a](https://example.com/nothing.md#x) [b](mailto:a@example.com)", ""},
		{"in code", "`[a](nothing.md)`\n\n    [b](nothing.md)\n\n```\n[c](nothing.md)\n```\n", ""},
		{"behind code", "    code\n\n[a](nothing.md)\n", "nothing.md"},
		{"in a list", "- x\n\n  [a](nothing.md)", "nothing.md"},
		{"in a table", "| a | b |\n|---|---|\n| [a](nothing.md) | |", "nothing.md"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
			for name, text := range map[string]string{"other.md": "## Its own: heading!\n", "sub/x.go": "package x\n", "it.md": test.text} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			links, err := broken(filepath.Join(dir, "it.md"))
			require.NoError(t, err)
			require.Equal(t, test.want, strings.Join(links, " "))
		})
	}
}

// sentences are those of a document's prose: not of tables and code. A code span is
// one word, and so is a link's address none.
func sentences(markdown string) []string {
	text := inlineLink.ReplaceAllString(withoutCode(markdown), "$1")
	var blocks []string
	open := false // whether the next line goes on with the last block
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "|"):
			open = false
		case open && !listItem.MatchString(line) && !strings.HasPrefix(line, "#"):
			blocks[len(blocks)-1] += " " + line
		default:
			blocks = append(blocks, listItem.ReplaceAllString(line, ""))
			open = !strings.HasPrefix(line, "#")
		}
	}
	var list []string
	for _, block := range blocks {
		for _, s := range sentence.Split(block, -1) {
			if s != "" {
				list = append(list, s)
			}
		}
	}
	return list
}

func TestSentences(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"a paragraph on two lines", "One two\nthree. Four!\n", []string{"One two three", "Four"}},
		{"a heading", "# Title\nOne.\n", []string{"# Title", "One"}},
		{"a list", "- one\n- two\n  three\n1. four.\n", []string{"one", "two three", "four"}},
		{"a table", "One:\n\n| a b c | d |\n|---|---|\n\nTwo.\n", []string{"One:", "Two"}},
		{"numbers and file names", "It is 2.5 of `a b. C`, see [x y](z.md).\n", []string{"It is 2.5 of code, see x y"}},
		{"blocks of code", "One.\n\n    two three\n\n    four\n\nFive.\n\n```\nsix.\n```\nSeven.\n", []string{"One", "Five", "Seven"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, sentences(test.text))
		})
	}
}

// mostWords is how long a sentence of a document may be.
const mostWords = 35

func TestSentencesAreShort(t *testing.T) {
	for _, name := range documents(t) {
		if name == filepath.Join(root, "docs", "contract.md") || strings.HasPrefix(name, filepath.Join(root, "intents")) {
			continue // the contract's rules are often lists in one sentence; prompts are for models
		}
		markdown, err := os.ReadFile(name) //nolint:gosec // from the list
		require.NoError(t, err)
		list := sentences(string(markdown))
		require.NotEmpty(t, list, name)
		for _, s := range list {
			assert.LessOrEqual(t, len(strings.Fields(s)), mostWords, "%s: %q", name, s)
		}
	}
}

// mostProse is how many words the figures may have outside tables.
const mostProse = 1300

func TestFiguresAreShort(t *testing.T) {
	markdown, err := os.ReadFile("figures.md")
	require.NoError(t, err)
	words := 0
	for line := range strings.Lines(string(markdown)) {
		if !strings.HasPrefix(line, "|") {
			words += len(strings.Fields(line))
		}
	}
	require.Less(t, words, mostProse)
}

// Every command of the figures is one of a test, benchmark or program that exists.
func TestFiguresHaveTheirCommands(t *testing.T) {
	markdown, err := os.ReadFile("figures.md")
	require.NoError(t, err)
	var (
		tools  = regexp.MustCompile("`go -C tools run \\./(\\w+)").FindAllSubmatch(markdown, -1)
		tests  = regexp.MustCompile("`go test (?:-tags \\w+ )?\\./(\\S+) [^`]*?-(run|bench) ([A-Z]\\w*)").FindAllSubmatch(markdown, -1)
		inGate = regexp.MustCompile("`test/e2e/openclaw/run ([a-z-]+)").FindAllSubmatch(markdown, -1)
	)
	require.NotEmpty(t, tools)
	for _, m := range tools {
		require.FileExists(t, filepath.Join(root, "tools", string(m[1]), "main.go"))
	}
	require.NotEmpty(t, tests)
	for _, m := range tests {
		kind := map[string]string{"run": "Test", "bench": "Benchmark"}[string(m[2])]
		name := strings.TrimPrefix(string(m[3]), kind)
		require.True(t, declares(t, filepath.Join(root, string(m[1])), kind+name), "%s has no %s%s", m[1], kind, name)
	}
	require.NotEmpty(t, inGate)
	for _, m := range inGate {
		if !strings.HasPrefix(string(m[1]), "-") {
			require.FileExists(t, filepath.Join(root, "test/e2e/openclaw", string(m[1])+".mjs"))
		}
	}
}

// declares tells whether a package has a test or benchmark whose name begins so.
func declares(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file) //nolint:gosec // of the repository
		require.NoError(t, err)
		if strings.Contains(string(source), "\nfunc "+name) {
			return true
		}
	}
	return false
}
