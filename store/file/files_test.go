package file_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "sessions")
	s := open(t, dir, 0)
	apply(t, s, storetest.Begin("s", "r1", 0))
	apply(t, s, storetest.Begin("s", "r2", 1), storetest.Call("s", "cron", 2))
	require.Equal(t, []string{"s.history.jsonl", "s.json", "s.pending"}, files(t, dir))
	for _, name := range files(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), name)
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestNothingIsWrittenOutsideTheDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b", "sessions")
	s := open(t, dir, 0)
	for i, name := range storetest.StrangeNames() {
		apply(t, s, storetest.Begin(name, fmt.Sprint("r", i), 0), storetest.Call(name, "cron", 1))
		apply(t, s, storetest.Begin(name, fmt.Sprint("q", i), 9))
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		require.True(t, strings.HasPrefix(path, dir+string(filepath.Separator)), path)
		return nil
	}))
	require.Len(t, files(t, dir), 3*len(storetest.StrangeNames()))
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1)
	facts := []store.Fact{
		storetest.Begin("s", "r1", 0), storetest.Call("s", "r1", 1), storetest.Begin("s", "r2", 2),
		storetest.Begin("s", "r3", 3), storetest.Call("s", "cron", 4),
	}
	apply(t, s, facts...)
	state := func() (out []string) {
		for _, name := range files(t, dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			out = append(out, fmt.Sprint(name, info.ModTime().UnixNano(), info.Size()))
		}
		return out
	}
	want := state()
	require.Len(t, want, 3)
	for _, handle := range []*file.Store{s, open(t, dir, 1)} {
		for range 2 {
			for _, f := range facts {
				apply(t, handle, f)
			}
			apply(t, handle, facts...)
		}
	}
	require.Equal(t, want, state())
}

func TestStoreWorksWithoutACache(t *testing.T) {
	t.Parallel()
	s, err := file.Open(t.TempDir(), store.Options{HistoryLimit: 1, CacheBytes: 1})
	require.NoError(t, err)
	for i := range int64(5) {
		for _, session := range []string{"a", "b"} {
			apply(t, s, storetest.Begin(session, fmt.Sprint("r", i), i), storetest.Call(session, "cron", i))
		}
	}
	for _, session := range []string{"a", "b"} {
		require.Equal(t, "r4", storetest.Show(t, s, session).Current.RunID)
		turns, err := s.Retired(t.Context(), session)
		require.NoError(t, err)
		require.Len(t, turns, 3)
	}
}

func TestFailedApplyIsRetriedAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 0)
	apply(t, s, storetest.Begin("s", "r0", 0))
	// The turn cannot be retired: its archive is a directory.
	archive := filepath.Join(dir, "s.history.jsonl")
	require.NoError(t, os.Mkdir(archive, 0o700))
	require.Error(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r1", 1)}))
	require.Equal(t, "r0", storetest.Show(t, s, "s").Current.RunID)
	require.NoError(t, os.Remove(archive))
	apply(t, s, storetest.Begin("s", "r1", 1))
	runs, _ := archived(t, dir, "s")
	require.Equal(t, []string{"r0"}, runs)
	require.Equal(t, "r1", storetest.Show(t, s, "s").Current.RunID)
}

func TestDirectoryMayVanish(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	s := open(t, dir, 0)
	apply(t, s, storetest.Begin("s", "r0", 0), storetest.Begin("s", "r1", 1))
	for _, f := range []store.Fact{storetest.Begin("s", "r2", 2), storetest.Call("s", "cron", 3)} {
		require.NoError(t, os.RemoveAll(dir))
		summaries, err := s.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, summaries)
		_, err = s.Sweep(t.Context(), time.Hour)
		require.NoError(t, err)
		apply(t, s, f)
		require.Len(t, files(t, dir), 1)
	}
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, s.Check(t.Context()))
	require.Empty(t, files(t, dir))
}

func TestCheckReportsAnUnwritableStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	s := open(t, dir, 0)
	require.NoError(t, s.Check(t.Context()))
	require.Empty(t, files(t, dir))
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	require.Error(t, s.Check(t.Context()))
	require.Error(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r", 0)}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Check(ctx), context.Canceled)
	_, err := file.Open(dir, store.Options{})
	require.Error(t, err)
}

func TestSessionFileIsJSONWithAllArrays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 200)
	apply(t, s, store.Fact{ID: "b", TS: 1, SessionKey: "k", Begin: &store.Begin{Input: "<x> & y"}})
	data, err := os.ReadFile(filepath.Join(dir, "k.json"))
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	require.JSONEq(t, `{"sessionKey":"k","current":{"runId":"b","input":"<x> & y","intent":{"input":[]},"skillsUsed":[],"toolCalls":[],
		"timestamps":{"start":"1970-01-01T00:00:00.001Z"},"begin":{"ts":1,"id":"b"}},"history":[],"namedBy":{"sessionKey":{"ts":1,"id":"b"}}}`, string(data))
	require.Contains(t, string(data), "<x> & y")
}

// An edit of a file is detected even if the size stays the same and the session
// is no longer in memory.
func TestEditedFileIsReadAgain(t *testing.T) {
	t.Parallel()
	s, err := file.Open(t.TempDir(), store.Options{HistoryLimit: 5, CacheBytes: 1})
	require.NoError(t, err)
	apply := func(facts ...store.Fact) {
		t.Helper()
		require.NoError(t, s.Apply(t.Context(), facts))
	}
	for _, session := range []string{"edited", "other"} {
		apply(storetest.Begin(session, "r1", 1000), storetest.Begin(session, "r2", 2000))
	}
	path := filepath.Join(s.Dir(), "edited.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	// A letter moves from the text of one turn to that of another.
	input := []byte(`"input":"`)
	first, last := bytes.Index(data, input)+len(input), bytes.LastIndex(data, input)+len(input)
	require.Less(t, first, last)
	edited := slices.Concat(data[:first], data[first+1:last], []byte("X"), data[last:])
	require.NoError(t, os.WriteFile(path, edited, 0o600))
	apply(storetest.End("other", "r2", 2500))
	apply(storetest.End("edited", "r2", 2500))
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, json.Valid(now), string(now))
	require.Contains(t, string(now), string(edited[last-1:last+10]))
}
