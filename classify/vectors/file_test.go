package vectors

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFileIsReadBackAsWritten(t *testing.T) {
	path := filePath(filepath.Join(t.TempDir(), "data", "cache"), "a")
	_, err := readFile(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, writeFile(path, []byte("one")))
	require.NoError(t, writeFile(path, []byte("two")))
	data, err := readFile(path)
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

func TestTheFilesUsedLastAreKept(t *testing.T) {
	dir := t.TempDir()
	old := func(name string, hours int) {
		at := time.Now().Add(-time.Duration(hours) * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	for _, name := range []string{"vectors-x.tmp", "vectors-y.tmp", "other-a.bin", "vectors-a.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		old(name, 9)
	}
	require.NoError(t, os.Chtimes(filepath.Join(dir, "vectors-y.tmp"), time.Now(), time.Now()))
	for i, key := range []string{"a", "b"} {
		require.NoError(t, writeFile(filePath(dir, key), nil))
		old("vectors-"+key+".bin", 8-i)
	}
	_, err := readFile(filePath(dir, "a"))
	require.NoError(t, err)
	require.NoError(t, writeFile(filePath(dir, "c"), nil))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"other-a.bin", "vectors-a.bin", "vectors-a.txt", "vectors-c.bin", "vectors-y.tmp"}, names, "a was read after b was written")
}

func TestFilesThatCannotBeACache(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filePath(dir, "directory"), 0o700))
	long := filePath(dir, "long")
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, maxFileBytes+1))
	for _, key := range []string{"directory", "long"} {
		_, err := readFile(filePath(dir, key))
		require.ErrorIs(t, err, errDamaged, key)
	}
	require.NoError(t, os.Symlink("nowhere", filePath(dir, "link")))
	_, err := readFile(filePath(dir, "link"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Error(t, writeFile(filePath(dir, "directory"), nil))
	require.Error(t, writeFile(filePath(long, "a"), nil), "the path of the directory is a file")
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}
