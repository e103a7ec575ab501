package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

func applied(t *testing.T, s *Store, facts ...store.Fact) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), facts))
}

func lostTokens(t *testing.T, s *Store) []string {
	t.Helper()
	losses, err := s.Lost(t.Context())
	require.NoError(t, err)
	out := []string{}
	for _, l := range losses {
		out = append(out, l.Token)
	}
	return out
}

// A process that dies after it has set a session aside leaves word of it.
func TestWhatIsSetAsideIsLost(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"garbage": func(path string) error { return os.WriteFile(path, []byte("]"), 0o600) },
		"a directory": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var told []string
			s, err := Open(dir, Options{Lost: func(token string) { told = append(told, token) }})
			require.NoError(t, err)
			applied(t, s, storetest.Begin("s", "r1", 1))
			applied(t, s, storetest.Begin("other", "r1", 1))
			require.NoError(t, spoil(filepath.Join(dir, "s.json")))
			applied(t, s, storetest.Begin("s", "r2", 2))
			applied(t, s, storetest.Begin("other", "r2", 2))
			require.Equal(t, "r2", storetest.Show(t, s, "s").Current.RunID)
			require.Equal(t, []string{"s"}, told)
			after, err := Open(dir, Options{HistoryLimit: 5})
			require.NoError(t, err)
			require.Equal(t, []string{"s"}, lostTokens(t, after))
		})
	}
}

// Two processes hold the lock of a session when its directory vanishes between
// them: one writes over what the other has written.
func TestASessionWhoseLockVanishedIsLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	s, err := Open(dir, Options{HistoryLimit: 5})
	require.NoError(t, err)
	s.disk.file = func(f *os.File) error {
		s.disk.file = (*os.File).Sync
		if err := os.Rename(dir, dir+".away"); err != nil {
			return err
		}
		other, err := Open(dir, Options{HistoryLimit: 5})
		if err == nil {
			err = other.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r2", 2)})
		}
		// As if this process had taken the name of its file just after that.
		return errors.Join(err, os.Rename(filepath.Join(dir+".away", tempDir, filepath.Base(f.Name())), f.Name()))
	}
	applied(t, s, storetest.Begin("s", "r1", 1))
	require.Equal(t, []string{"s"}, lostTokens(t, s))
	applied(t, s, storetest.Begin("s", "r1", 1))
	applied(t, s, storetest.Begin("s", "r2", 2))
	require.Len(t, storetest.Show(t, s, "s").History, 1)
}

// A lock that was opened before its directory vanished keeps nobody out.
func TestALockThatVanishedIsTakenAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	s, err := Open(dir, Options{HistoryLimit: 5})
	require.NoError(t, err)
	applied(t, s, storetest.Begin("s", "r1", 1))
	path := s.shard("s").file.Path()
	old := flock.New(path)
	require.NoError(t, old.Lock())
	done := make(chan error, 1)
	go func() { done <- s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r2", 2)}) }()
	require.Eventually(t, func() bool { return len(s.shard("s").sem) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, lockDir), 0o700))
	now := flock.New(path, flock.SetPermissions(0o600))
	require.NoError(t, now.Lock())
	require.NoError(t, old.Unlock())
	select {
	case err := <-done:
		t.Fatal("another process holds the lock", err)
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, now.Unlock())
	require.NoError(t, <-done)
	require.Empty(t, lostTokens(t, s))
}
