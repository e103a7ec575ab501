package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConstants(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go": `package a

// Of a group.
const (
	one = 1
	two = 2 * time.Second
)

const (
	// least and most bound it.
	least = 1 << 10
	most  = 1 << 20

	alone = 0.5
	named = "3" // a text
	line  = 4   // a comment
)

const iota1 = iota

func f() {
	const inner, other = 5, len("6") + 6
}
`,
		"a/a_test.go":         "package a\n\nconst x = 1\n",
		"a/atest/help.go":     "package atest\n\nconst x = 1\n",
		"tools/x/main.go":     "package main\n\nconst x = 1\n",
		".cache/x/y.go":       "package y\n\nconst x = 1\n",
		"b/c/c.go":            "package c\n\nconst x = -1\n",
		"b/testdata/notgo.md": "const x = 1",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	var out strings.Builder
	require.NoError(t, run([]string{"-root", root}, &out))
	require.Equal(t, "   7 a\n   1 b/c\n8 numeric constants, 3 without a comment\n", out.String())
	out.Reset()
	require.NoError(t, run([]string{"-root", root, "-bare"}, &out))
	require.Equal(t, "a/a.go:14 alone\na/a.go:22 inner\nb/c/c.go:3 x\n8 numeric constants, 3 without a comment\n", out.String())

	require.NoError(t, os.WriteFile(filepath.Join(root, "a", "broken.go"), []byte("package"), 0o600))
	require.Error(t, run([]string{"-root", root}, &out))
	require.Error(t, run([]string{"-no-such-flag"}, &out))
}
