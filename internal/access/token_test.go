package access

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	_, err := ReadToken(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	tokens := make([]string, 16)
	var starting sync.WaitGroup
	for i := range tokens {
		starting.Go(func() {
			var err error
			tokens[i], err = MakeToken(dir)
			require.NoError(t, err)
		})
	}
	starting.Wait()
	for _, token := range tokens {
		require.Equal(t, tokens[0], token)
	}
	require.GreaterOrEqual(t, len(tokens[0]), 26, "128 bits")
	again, err := ReadToken(dir)
	require.NoError(t, err)
	require.Equal(t, tokens[0], again)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
	info, err := entries[0].Info()
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	other, err := MakeToken(t.TempDir())
	require.NoError(t, err)
	require.NotEqual(t, tokens[0], other)
}

func TestEmptyTokenLetsNobodyIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, tokenFile), []byte(" \n"), 0o600))
	_, err := MakeToken(dir)
	require.ErrorIs(t, err, errEmpty)
}

// A file that could not be written is an error, and nothing is left of it.
func TestCreateFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Error(t, createFile(filepath.Join(dir, "missing"), "token", []byte("x")))
	require.Error(t, createFile(dir, filepath.Join("missing", "token"), []byte("x")))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
