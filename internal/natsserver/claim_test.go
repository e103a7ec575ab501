package natsserver

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
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

// A process that reaches the data directory by a link belongs to the others.
func TestClaimOfADirectoryWithTwoPaths(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	opts := &server.Options{Host: "127.0.0.1", Port: 14222}
	log := slog.New(slog.DiscardHandler)
	first, err := claimAddress(opts, dir, log)
	require.NoError(t, err)
	defer first.release()
	second, err := claimAddress(opts, link, log)
	require.NoError(t, err)
	require.NotNil(t, second.lock)
	second.release()
	_, err = claimAddress(opts, t.TempDir(), log)
	require.ErrorIs(t, err, ErrAddressTaken)
}
