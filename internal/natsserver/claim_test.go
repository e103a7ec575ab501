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

// Another user of the machine made the directory, and the lock in it a link to a
// file of this user.
func TestLockOfAnotherUserIsNotWritten(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	locks := filepath.Join(dir, "intenthint")
	require.NoError(t, os.Mkdir(locks, 0o700))
	require.NoError(t, os.Symlink(victim, filepath.Join(locks, "127.0.0.1_14222.lock")))
	require.NoError(t, os.Chown(locks, 65534, 65534))
	_, err := claimFile("127.0.0.1:14222")
	require.ErrorIs(t, err, errNoLockDir)
	c, err := claimAddress(&server.Options{Host: "127.0.0.1", Port: 14222}, t.TempDir(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Nil(t, c.lock)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
}

func TestLockIsNoLink(t *testing.T) {
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	lock, err := claimFile("127.0.0.1:14222")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(victim, lock))
	c, err := claimAddress(&server.Options{Host: "127.0.0.1", Port: 14222}, t.TempDir(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Nil(t, c.lock)
	require.Error(t, writeClaim(lock, "data"))
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
}

func TestLocksOfRootAreInNoPlaceOfEverybody(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp/anywhere")
	require.Equal(t, "/run/intenthint", lockDir("", 0))
	require.Equal(t, "/tmp/anywhere/intenthint-1000", lockDir("", 1000))
	require.Equal(t, "/run/user/0/intenthint", lockDir("/run/user/0", 0))
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
