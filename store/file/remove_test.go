package file_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

// Whatever the directory holds of a removed session is gone: files set aside, and
// earlier versions of its file that are kept for reuse.
func TestRemoveLeavesNoText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := file.Open(dir, store.Options{HistoryLimit: 1})
	require.NoError(t, err)
	holding := func(text string) (paths []string) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), text) {
				paths = append(paths, path)
			}
			return err
		}))
		return paths
	}
	for i, session := range []string{"other", "mine"} {
		for _, run := range []string{"a", "b", "c"} {
			f := storetest.Begin(session, run, int64(i))
			f.Begin.Input = "secret of " + session
			apply(t, s, f)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.history.jsonl.corrupt-1"), []byte("secret of mine"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.pending"), []byte("secret of mine"), 0o600))
	others := len(holding("secret of other"))
	require.Greater(t, len(holding("secret of mine")), 4)

	again, err := file.Open(dir, store.Options{})
	require.NoError(t, err)
	removed, err := again.Remove(t.Context(), "mine")
	require.NoError(t, err)
	require.Equal(t, []string{"mine.history.jsonl", "mine.history.jsonl.corrupt-1", "mine.pending", "mine.json"}, removed)
	require.Empty(t, holding("secret of mine"))
	require.Len(t, holding("secret of other"), others)
	apply(t, s, storetest.Begin("mine", "d", 9))
	require.Equal(t, "d", storetest.Show(t, s, "mine").Current.RunID)
}
