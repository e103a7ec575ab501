package natsserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLockDirectoryIsOfThisUserAlone(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	locks := filepath.Join(dir, "intenthint")
	name, err := claimFile("127.0.0.1:4222")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(locks, "127.0.0.1_4222.lock"), name)

	require.NoError(t, os.Chmod(locks, 0o777)) //nolint:gosec // what another user might have made
	_, err = claimFile("127.0.0.1:4222")
	require.ErrorContains(t, err, "not a directory of this user alone")

	require.NoError(t, os.Remove(locks))
	require.NoError(t, os.Symlink(t.TempDir(), locks))
	_, err = claimFile("127.0.0.1:4222")
	require.ErrorContains(t, err, "not a directory of this user alone")
}
