package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	const age = time.Hour
	now := time.Now()
	dir := t.TempDir()
	s, err := file.Open(dir, store.Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	put := func(name string, old time.Duration) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		}
		require.NoError(t, os.Chtimes(path, now.Add(-old), now.Add(-old)))
	}
	for _, session := range []string{"stale", "live", "amended"} {
		apply(t, s, storetest.Begin(session, "r0", 0), storetest.Begin(session, "r1", 1), storetest.Call(session, "cron", 2))
	}
	for _, name := range []string{"stale.json", "stale.history.jsonl", "stale.pending", "live.history.jsonl", "amended.json", "orphan.history.jsonl", "alone.pending"} {
		put(name, age+time.Minute)
	}
	for _, name := range []string{"live.json", "live.pending", "amended.history.jsonl", "amended.pending", ".probe-9"} {
		put(name, age-time.Minute)
	}
	put(fmt.Sprint("old.corrupt-", now.Add(-2*age).UnixMilli()), 2*age)
	put(fmt.Sprint("new.corrupt-", now.UnixMilli()), 2*age)
	// A directory in place of a session file, and damaged files.
	directory := filepath.Join(dir, fmt.Sprint("way.corrupt-", now.Add(-2*age).UnixMilli()))
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "deep"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "deep", "file"), nil, 0o600))
	put(fmt.Sprint("old.history.jsonl.corrupt-", now.Add(-2*age).UnixMilli()), 0)
	put(fmt.Sprint("old.pending.corrupt-", now.Add(-2*age).UnixMilli()), 0)
	put(fmt.Sprint("new.pending.corrupt-", now.UnixMilli()), 2*age)
	put("notes.txt", 3*age)
	put("README", 3*age)
	put(".probe-fresh", time.Second)
	all := files(t, dir)

	t.Run("0 removes only leftovers", func(t *testing.T) {
		removed, err := s.Sweep(t.Context(), 0)
		require.NoError(t, err)
		require.Zero(t, removed)
		require.Equal(t, slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == ".probe-9" }), files(t, dir))
	})
	t.Run("old files are removed", func(t *testing.T) {
		removed, err := s.Sweep(t.Context(), age)
		require.NoError(t, err)
		require.Equal(t, 1, removed)
		require.Equal(t, []string{
			".probe-fresh", "README", "amended.history.jsonl", "amended.json", "amended.pending",
			"live.history.jsonl", "live.json", "live.pending",
			fmt.Sprint("new.corrupt-", now.UnixMilli()), fmt.Sprint("new.pending.corrupt-", now.UnixMilli()), "notes.txt",
		}, files(t, dir))
	})
	t.Run("a removed session can begin again", func(t *testing.T) {
		apply(t, s, storetest.Begin("stale", "r2", 5))
		doc := storetest.Show(t, s, "stale")
		require.Equal(t, "r2", doc.Current.RunID)
		require.Empty(t, doc.History)
	})
	t.Run("an ended context stops the sweep", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Sweep(ctx, age)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestSweepOfNoDirectoryIsAnError(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	s, err := file.Open(dir, store.Options{})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	removed, err := s.Sweep(t.Context(), 0)
	require.NoError(t, err, "there is nothing to remove")
	require.Zero(t, removed)
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	_, err = s.Sweep(t.Context(), 0)
	require.Error(t, err)
}
