package cachefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var kind = Kind{Prefix: "thing-", Suffix: ".bin", Keep: 2, MaxBytes: 100}

func TestWhatWasWrittenIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "cache")
	_, err := kind.Read(dir, "a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, kind.Write(dir, "a", []byte("one")))
	require.NoError(t, kind.Write(dir, "a", []byte("two")))
	data, err := kind.Read(dir, "a")
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	info, err := os.Stat(kind.Path(dir, "a"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

func TestTheNewestAreKept(t *testing.T) {
	dir := t.TempDir()
	old := func(name string, hours int) {
		at := time.Now().Add(-time.Duration(hours) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	for _, name := range []string{"thing-x.tmp", "thing-y.tmp", "other-a.bin", "thing-a.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		old(name, 9)
	}
	require.NoError(t, os.Chtimes(filepath.Join(dir, "thing-y.tmp"), time.Now(), time.Now()))
	for i, key := range []string{"a", "b"} {
		require.NoError(t, kind.Write(dir, key, nil))
		old("thing-"+key+".bin", 8-i)
	}
	_, err := kind.Read(dir, "a")
	require.NoError(t, err)
	require.NoError(t, kind.Write(dir, "c", nil))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"other-a.bin", "thing-a.bin", "thing-a.txt", "thing-c.bin", "thing-y.tmp"}, names, "what was read last is not among the oldest")
}

func TestWhatIsNoFileOfACache(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(kind.Path(dir, "directory"), 0o700))
	require.NoError(t, os.Symlink("nowhere", kind.Path(dir, "link")))
	require.NoError(t, os.WriteFile(kind.Path(dir, "long"), make([]byte, 101), 0o600))
	for _, key := range []string{"directory", "link", "long"} {
		_, err := kind.Read(dir, key)
		require.ErrorIs(t, err, errIrregular, key)
	}
	require.Error(t, kind.Write(dir, "directory", nil))
	require.Error(t, kind.Write(kind.Path(dir, "long"), "a", nil), "a file is in the place of the directory")
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}
