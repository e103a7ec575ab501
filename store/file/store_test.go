package file_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func open(t testing.TB, dir string, limit int) *file.Store {
	t.Helper()
	s, err := file.Open(dir, store.Options{HistoryLimit: limit})
	require.NoError(t, err)
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, limit int) []store.Store {
		dir := t.TempDir()
		return []store.Store{open(t, dir, limit), open(t, dir, limit), open(t, dir, limit)}
	}, spoils())
}

// spoils damages each of the files of a session.
func spoils() map[string]storetest.Spoil {
	out := map[string]storetest.Spoil{}
	for _, suffix := range []string{".json", ".history.jsonl", ".pending"} {
		for how, spoil := range map[string]func(string) string{
			"emptied":     func(string) string { return "" },
			"overwritten": func(string) string { return "\xff\x00]" },
			"cut":         func(s string) string { return s[:len(s)*2/3] + "{" },
			"damaged": func(s string) string {
				lines := strings.SplitAfter(s, "\n")
				i := (len(lines) - 1) / 2
				return strings.Join(slices.Concat(lines[:i], []string{"{" + lines[i]}, lines[i+1:]), "")
			},
		} {
			out[suffix+" "+how] = func(t *testing.T, s store.Store, token string) {
				files, ok := s.(*file.Store)
				require.True(t, ok)
				path := filepath.Join(files.Dir(), token+suffix)
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, []byte(spoil(string(data))), 0o600))
			}
		}
	}
	return out
}
