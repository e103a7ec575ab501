package file

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASourceThatCannotBeReadIsNone(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, sourceFile), []byte("{"), 0o600))
	_, err = s.Source(t.Context())
	require.ErrorContains(t, err, "source of the sessions")
	list, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestOneProcessRebuilds(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir, Options{})
	require.NoError(t, err)
	b, err := Open(dir, Options{})
	require.NoError(t, err)
	release, ok, err := a.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, err = b.Rebuilding(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	release()
	release, ok, err = b.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	release()
}
