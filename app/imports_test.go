package app_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
)

// The table of imports in CONTRIBUTING.md is made from the linter's rules.
func TestTheTableOfImportsIsThatOfTheLinter(t *testing.T) {
	t.Parallel()
	var lint struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Files, Allow []string }
				}
			}
		}
	}
	rules, err := os.ReadFile("../.golangci.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(rules, &lint))
	everywhere := []string{"internal/glob", "internal/loglimit", "internal/panics", "internal/retry", "internal/text"}
	var rows []string
	for _, r := range lint.Linters.Settings.Depguard.Rules {
		var folders, allowed []string
		for _, f := range r.Files {
			if folder, ok := strings.CutPrefix(f, "**/"); ok {
				folders = append(folders, "`"+strings.TrimSuffix(strings.TrimSuffix(folder, "/*.go"), "/**")+"`")
			}
		}
		for _, a := range r.Allow {
			if a = strings.TrimPrefix(a, "intenthint/"); !slices.Contains(everywhere, a) {
				allowed = append(allowed, "`"+a+"`")
			}
		}
		if len(r.Allow) > 0 {
			rows = append(rows, fmt.Sprintf("| %s | %s |\n", strings.Join(folders, " "), strings.Join(slices.Sorted(slices.Values(allowed)), " ")))
		}
	}
	require.Greater(t, len(rows), 20)
	document, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	const head = "| folders | may import |\n|---|---|\n"
	before, after, ok := strings.Cut(string(document), head)
	require.True(t, ok)
	_, after, ok = strings.Cut("\n"+after, "\n\n")
	require.True(t, ok)
	golden.File(t, "../CONTRIBUTING.md", before+head+strings.Join(slices.Sorted(slices.Values(rows)), "")+"\n"+after)
}
