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

// A process that dies after it found a session damaged or gone has recorded the loss.
func TestDamageRecordsALoss(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"deleted": os.Remove,
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
			s, err := Open(dir, store.Options{Lost: func(token string) { told = append(told, token) }})
			require.NoError(t, err)
			applied(t, s, storetest.Begin("s", "r1", 1))
			applied(t, s, storetest.Begin("other", "r1", 1))
			require.NoError(t, spoil(filepath.Join(dir, "s.json")))
			applied(t, s, storetest.Begin("s", "r2", 2))
			applied(t, s, storetest.Begin("other", "r2", 2))
			require.Equal(t, "r2", storetest.Show(t, s, "s").Current.RunID)
			require.Equal(t, []string{"s"}, told)
			after, err := Open(dir, store.Options{HistoryLimit: 5})
			require.NoError(t, err)
			require.Equal(t, []string{"s"}, lostTokens(t, after))
		})
	}
}

// When the lock directory vanishes, two processes can hold the lock of a session
// and one may overwrite the other.
func TestSessionWithAVanishedLockIsLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	s, err := Open(dir, store.Options{HistoryLimit: 5})
	require.NoError(t, err)
	s.disk.File = func(f *os.File) error {
		s.disk.File = (*os.File).Sync
		if err := os.Rename(dir, dir+".away"); err != nil {
			return err
		}
		other, err := Open(dir, store.Options{HistoryLimit: 5})
		if err == nil {
			err = other.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r2", 2)})
		}
		// As if this process had locked its file just after that.
		return errors.Join(err, os.Rename(filepath.Join(dir+".away", tempDir, filepath.Base(f.Name())), f.Name()))
	}
	applied(t, s, storetest.Begin("s", "r1", 1))
	require.Equal(t, []string{"s"}, lostTokens(t, s))
	applied(t, s, storetest.Begin("s", "r1", 1))
	applied(t, s, storetest.Begin("s", "r2", 2))
	require.Len(t, storetest.Show(t, s, "s").History, 1)
}

// A lock on a file that was removed with its directory excludes no process.
func TestVanishedLockIsTakenAgain(t *testing.T) {
	t.Parallel()
	// The store retries every millisecond, and may take the new lock before this
	// test does.
	for range 100 {
		if lockVanishes(t) {
			return
		}
	}
	t.Fatal("the store was always faster")
}

// lockVanishes reports whether the test took the new lock before the store.
func lockVanishes(t *testing.T) bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions")
	s, err := Open(dir, store.Options{HistoryLimit: 5})
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
	if _, err := os.Stat(filepath.Join(dir, "s.json")); err == nil {
		require.NoError(t, now.Unlock())
		require.NoError(t, <-done)
		require.NoError(t, old.Unlock())
		return false
	}
	require.NoError(t, old.Unlock())
	select {
	case err := <-done:
		t.Fatal("another process holds the lock", err)
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, now.Unlock())
	require.NoError(t, <-done)
	require.Equal(t, []string{"s"}, lostTokens(t, s), "its file went with the directory")
	return true
}

// A full disk during a repair loses no line, and failed attempts leave no files.
func TestFullDiskDuringARepairLosesNothing(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{historySuffix, pendingSuffix} {
		t.Run(suffix, func(t *testing.T) {
			s, err := Open(t.TempDir(), store.Options{})
			require.NoError(t, err)
			applied(t, s, storetest.Begin("s", "r1", 1), storetest.Begin("s", "r2", 2), storetest.Begin("s", "r3", 3), storetest.Call("s", "cron", 1))
			path := s.path("s", suffix)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, append(data, ']'), 0o600))
			s.disk.File = func(*os.File) error { return errors.New("the disk is full") }
			facts := []store.Fact{storetest.Begin("s", "r0", 0)}
			for range 2 {
				require.Error(t, s.Apply(t.Context(), facts))
			}
			require.Empty(t, lostTokens(t, s))
			aside, err := filepath.Glob(path + corruptPrefix + "*")
			require.NoError(t, err)
			require.Empty(t, aside)
			now, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(data)+"]", string(now))
			s.disk.File = (*os.File).Sync
			applied(t, s, facts...)
			require.Equal(t, []string{"s"}, lostTokens(t, s))
			now, err = os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(now), string(data[:len(data)-1]))
		})
	}
}

func TestPartialAppendIsUndone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lines")
	add := func(text string) *os.File {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	add("one\n")
	require.NoError(t, takeBack(add("tw"), 2))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "one\n", string(data))
	require.NoError(t, takeBack(add("th"), 6))
	require.NoFileExists(t, path)
}

// A process that dies while setting lines aside has recorded the loss.
func TestLossIsRecordedBeforeLinesAreSetAside(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{historySuffix, pendingSuffix} {
		t.Run(suffix, func(t *testing.T) {
			s, err := Open(t.TempDir(), store.Options{Now: func() time.Time { return time.UnixMilli(17) }})
			require.NoError(t, err)
			applied(t, s, storetest.Begin("s", "r1", 1), storetest.Begin("s", "r2", 2), storetest.Call("s", "cron", 1))
			path := s.path("s", suffix)
			require.NoError(t, os.WriteFile(path, []byte("]"), 0o600))
			// Renaming to the set-aside name fails.
			require.NoError(t, os.MkdirAll(filepath.Join(path+corruptPrefix+"17", "in the way"), 0o700))
			require.Error(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r3", 3)}))
			require.Equal(t, []string{"s"}, lostTokens(t, s))
			require.FileExists(t, path)
		})
	}
}
