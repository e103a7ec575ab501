package file_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// A session is removed even if the names of its runs cannot be kept; the error says
// so.
func TestRemoveGoesOnWhenRunsCannotBeKept(t *testing.T) {
	t.Parallel()
	loop := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			path := filepath.Join(dir, name)
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink(name, path))
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		err   error
		kept  []string // runs that a late event does not begin again
	}{
		"they cannot be written": {func(t *testing.T, dir string) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".removed"), nil, 0o600))
		}, syscall.ENOTDIR, nil},
		"the document cannot be opened": {loop("s.json"), syscall.ELOOP, []string{"a"}},
		"the history cannot be opened":  {loop("s.history.jsonl"), syscall.ELOOP, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := file.Open(dir, store.Options{HistoryLimit: 0})
			require.NoError(t, err)
			apply(t, s, storetest.Begin("s", "a", 1))
			apply(t, s, storetest.Begin("s", "b", 2))
			require.FileExists(t, filepath.Join(dir, "s.history.jsonl"))
			c.spoil(t, dir)
			removed, err := s.Remove(t.Context(), "s")
			require.ErrorIs(t, err, store.ErrNotRecorded)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, []string{"s.history.jsonl", "s.json"}, removed)
			left, err := filepath.Glob(filepath.Join(dir, "s.*"))
			require.NoError(t, err)
			require.Empty(t, left)
			removed, err = s.Remove(t.Context(), "s")
			require.NoError(t, err)
			require.Empty(t, removed)
			for _, run := range c.kept {
				late := storetest.Begin("s", run, 3)
				late.Begin.Unanswered = true
				apply(t, s, late)
				_, err = s.Get(t.Context(), "s")
				require.ErrorIs(t, err, store.ErrNotFound, run)
			}
		})
	}
}
