package hook_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example in CONTRIBUTING.md is the one that is compiled here.
func TestContributingShowsTheExample(t *testing.T) {
	document, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(source), "// payload/before_tool_call.go")
	require.True(t, ok)
	code, _, ok = strings.Cut(code, "// A decision hook is three files")
	require.True(t, ok)
	for line := range strings.Lines(strings.TrimSpace(code)) {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), "\n")
		require.Contains(t, string(document), line)
	}
}
