package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func TestPendingFactsAreAJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 200)
	pending := filepath.Join(dir, "s.pending")
	t.Run("is appended to", func(t *testing.T) {
		for i := range int64(3) {
			apply(t, s, storetest.Call("s", "r1", i))
		}
		data, err := os.ReadFile(pending)
		require.NoError(t, err)
		require.Equal(t, 3, bytes.Count(data, []byte("\n")))
		require.Equal(t, []string{"s.pending"}, files(t, dir))
	})
	t.Run("survives a torn write", func(t *testing.T) {
		f, err := os.OpenFile(pending, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"id":"half`)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		apply(t, s, storetest.Call("s", "r1", 3))
		data, err := os.ReadFile(pending)
		require.NoError(t, err)
		require.Equal(t, 4, bytes.Count(data, []byte("\n")))
		require.NotContains(t, string(data), "half")
		aside, err := filepath.Glob(pending + ".corrupt-*")
		require.NoError(t, err)
		require.Len(t, aside, 1)
		require.NoError(t, os.Remove(aside[0]))
	})
	t.Run("is removed when all facts have their turn", func(t *testing.T) {
		apply(t, open(t, dir, 200), storetest.Begin("s", "r1", 0))
		require.Equal(t, []string{"s.json"}, files(t, dir))
		require.Len(t, storetest.Show(t, s, "s").Current.ToolCalls, 4)
	})
	t.Run("does not grow without bound", func(t *testing.T) {
		const most = 4096 // that wait
		for batch := range int64(95) {
			var calls []store.Fact
			for i := range int64(100) {
				calls = append(calls, storetest.Call("s", "cron", 100*batch+i))
			}
			apply(t, s, calls...)
		}
		data, err := os.ReadFile(pending)
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(data, []byte("\n")), 2*most+100+64)
		apply(t, s, storetest.Begin("s", "cron", 0))
		require.Len(t, storetest.Show(t, s, "s").History[0].ToolCalls, most)
		require.Equal(t, []string{"s.json"}, files(t, dir))
	})
}

func TestCrashBetweenSessionFileAndJournalRepeatsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 200)
	apply(t, s, storetest.Call("s", "r1", 1), storetest.Call("s", "", 2))
	journal, err := os.ReadFile(filepath.Join(dir, "s.pending"))
	require.NoError(t, err)
	apply(t, s, storetest.Begin("s", "r1", 0))
	want := storetest.Show(t, s, "s")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.pending"), journal, 0o600))
	for _, handle := range []*file.Store{s, open(t, dir, 200)} {
		apply(t, handle, storetest.Begin("s", "r1", 0))
		require.Equal(t, want, storetest.Show(t, handle, "s"))
	}
}

func TestJournalOfAnotherProcessIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir, 200), open(t, dir, 200)
	for i := range int64(40) {
		writer := a
		if i%3 == 1 {
			writer = b
		}
		apply(t, writer, storetest.Call("s", "r1", i))
	}
	pending := filepath.Join(dir, "s.pending")
	data, err := os.ReadFile(pending)
	require.NoError(t, err)
	require.Equal(t, 40, bytes.Count(data, []byte("\n")))

	// A longer file with other content, as when a new file gets the inode number
	// of the old one.
	other, err := json.Marshal(storetest.Call("s", "r1", 1000))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pending, append(append(other, '\n'), data...), 0o600))
	apply(t, a, storetest.Call("s", "r1", 1001))
	apply(t, b, storetest.Begin("s", "r1", 0))
	require.Len(t, storetest.Show(t, a, "s").Current.ToolCalls, 42)
	require.Equal(t, []string{"s.json"}, files(t, dir))
}
