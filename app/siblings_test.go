package app_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Outside its own folders, its page and its commands, a part is named where it is
// listed, where its commands are, and in the payload that it shares with the gateway.
// Tests and their helpers are left out, and so is the demonstration: settings, rights,
// pages and traffic of the whole program use each part by its name.
func TestWhereAPartIsNamed(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`^(triage|handlers|test|tools)/|^console/triage|^cmd/consumer/(triage|demo)|test/|_test\.go$`)
	var named []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel("..", path)
		name = filepath.ToSlash(name)
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" || own.MatchString(name) || err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToLower(content), []byte("triage")) {
			named = append(named, name)
		}
		return err
	}))
	require.Equal(t, []string{"app/parts.go", "cmd/consumer/cli.go", "payload/feedback.go"}, named)
}

// What CONTRIBUTING.md shows of a part stands in the part that TestAPartIsOneFolder
// runs.
func TestTheRecipesAreOfARunningPart(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	source, err := os.ReadFile("apptest/toy/part.go")
	require.NoError(t, err)
	_, recipes, ok := strings.Cut(string(document), "\n## Add a part\n")
	require.True(t, ok)
	recipes, _, ok = strings.Cut(recipes, "\n## Add an intent\n")
	require.True(t, ok)
	code := 0
	for block := range strings.SplitSeq(recipes, "\n\n    ") {
		block, _, _ = strings.Cut("    "+block, "\n\n")
		var lines []string
		for line := range strings.Lines(block) {
			line, indented := strings.CutPrefix(line, "    ")
			if !indented {
				lines = nil // a paragraph
				break
			}
			rest := strings.TrimLeft(line, " ")
			lines = append(lines, strings.Repeat("\t", (len(line)-len(rest))/4)+rest)
		}
		if len(lines) > 0 {
			code++
			require.Contains(t, string(source), strings.Join(lines, ""))
		}
	}
	require.GreaterOrEqual(t, code, 5)
}
