package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func TestRetiredTurns(t *testing.T) {
	t.Parallel()
	const limit = 3
	dir := t.TempDir()
	s := open(t, dir, limit)
	for i := range int64(10) {
		run := fmt.Sprint("r", i)
		apply(t, s, storetest.Begin("s", run, i*100), storetest.Call("s", run, i*100+1))
	}
	runs, _ := archived(t, dir, "s")
	require.Equal(t, []string{"r0", "r1", "r2", "r3", "r4", "r5"}, runs)
	session, err := os.ReadFile(filepath.Join(dir, "s.json"))
	require.NoError(t, err)

	for _, handle := range []*file.Store{s, open(t, dir, limit)} {
		t.Run("a late call amends", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			late := storetest.Call("s", "r2", 250+int64(len(before)))
			apply(t, handle, late)
			apply(t, handle, late)
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r2"), runs)
			require.Equal(t, late.ID, turns["r2"].ToolCalls[len(turns["r2"].ToolCalls)-1].ToolCallID)
			require.Greater(t, len(turns["r2"].ToolCalls), 1)
		})
		t.Run("a late end amends", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			apply(t, handle, storetest.End("s", "r4", 460+int64(len(before))))
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r4"), runs)
			require.Equal(t, "result of r4", turns["r4"].Result)
		})
		t.Run("a call without a run id amends the turn of its time", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			apply(t, handle, storetest.Call("s", "", 350+int64(len(before))))
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r3"), runs)
			require.True(t, turns["r3"].ToolCalls[len(turns["r3"].ToolCalls)-1].Loose)
		})
		t.Run("a retry amends", func(t *testing.T) {
			before, turns := archived(t, dir, "s")
			retry := storetest.Begin("s", "r5", 0)
			retry.ID, retry.TS = fmt.Sprint("retry", len(before)), turns["r5"].Begin.TS-1
			apply(t, handle, retry)
			runs, turns := archived(t, dir, "s")
			require.Equal(t, append(slices.Clone(before), "r5"), runs)
			require.Equal(t, retry.Key(), turns["r5"].Begin)
		})
		t.Run("a redelivered event appends nothing", func(t *testing.T) {
			before, _ := archived(t, dir, "s")
			for i := range int64(6) {
				run := fmt.Sprint("r", i)
				apply(t, handle, storetest.Begin("s", run, i*100))
				apply(t, handle, storetest.Call("s", run, i*100+1))
			}
			runs, _ := archived(t, dir, "s")
			require.Equal(t, before, runs)
		})
	}
	t.Run("a turn older than the retired ones is retired too", func(t *testing.T) {
		before, _ := archived(t, dir, "s")
		apply(t, s, storetest.Begin("s", "oldest", -50), storetest.Call("s", "oldest", -40))
		runs, turns := archived(t, dir, "s")
		require.Equal(t, append(slices.Clone(before), "oldest"), runs)
		require.Len(t, turns["oldest"].ToolCalls, 1)
	})
	after, err := os.ReadFile(filepath.Join(dir, "s.json"))
	require.NoError(t, err)
	require.Equal(t, string(session), string(after))

	t.Run("retired turns are readable", func(t *testing.T) {
		turns, err := s.Retired(t.Context(), "s")
		require.NoError(t, err)
		require.Len(t, turns, 7)
		for i, run := range []string{"oldest", "r0", "r1", "r2", "r3", "r4", "r5"} {
			turn, err := store.DecodeTurn(turns[i])
			require.NoError(t, err)
			require.Equal(t, run, turn.RunID)
		}
		turns, err = s.Retired(t.Context(), "another")
		require.NoError(t, err)
		require.Empty(t, turns)
	})
}

func TestCrashBetweenHistoryAndSessionFileLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1)
	apply(t, s, storetest.Begin("s", "r0", 0), storetest.Begin("s", "r1", 1))
	before, err := os.ReadFile(filepath.Join(dir, "s.json"))
	require.NoError(t, err)
	apply(t, s, storetest.Begin("s", "r2", 2))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.json"), before, 0o600))
	// r0 is in both files now; the session file counts.
	apply(t, s, storetest.Call("s", "r0", 7))
	runs, _ := archived(t, dir, "s")
	require.Equal(t, []string{"r0"}, runs)
	require.Len(t, storetest.Show(t, s, "s").History[0].ToolCalls, 1)
	apply(t, s, storetest.Begin("s", "r2", 2))
	runs, turns := archived(t, dir, "s")
	require.Equal(t, []string{"r0", "r0"}, runs)
	require.Len(t, turns["r0"].ToolCalls, 1)
}
