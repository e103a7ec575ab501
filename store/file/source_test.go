package file

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

func TestUnreadableSourceIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, store.Options{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, sourceFile), []byte("{"), 0o600))
	_, err = s.Source(t.Context())
	require.ErrorContains(t, err, "source of sessions")
	list, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestOneProcessRebuilds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := Open(dir, store.Options{})
	require.NoError(t, err)
	b, err := Open(dir, store.Options{})
	require.NoError(t, err)
	rebuild, ok, err := a.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, err = b.Rebuilding(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	rebuild.Release()
	rebuild, ok, err = b.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	rebuild.Release()
}

func TestRebuildOfAVanishedDirectoryCannotFinish(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	s, err := Open(dir, store.Options{})
	require.NoError(t, err)
	rebuild, ok, err := s.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, os.Rename(dir, dir+".away"))
	applied(t, s, storetest.Begin("s", "r", 1))
	another, ok, err := s.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	require.ErrorContains(t, rebuild.Finish(t.Context(), store.Source{Stream: "E"}), "lost during rebuild")
	rebuild.Release()
	source, err := s.Source(t.Context())
	require.NoError(t, err)
	require.Zero(t, source)
	require.NoError(t, another.Finish(t.Context(), store.Source{Stream: "E"}))
	another.Release()
	source, err = s.Source(t.Context())
	require.NoError(t, err)
	require.Equal(t, "E", source.Stream)
	left, err := filepath.Glob(filepath.Join(dir, sourceFile+"*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A lock that cannot be taken is a fault, and not another process that rebuilds.
func TestRebuildWithoutItsLockIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, store.Options{})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, lockDir, "rebuild"), 0o700))
	_, ok, err := s.Rebuilding(t.Context())
	require.Error(t, err)
	require.False(t, ok)
}
