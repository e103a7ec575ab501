package file_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func apply(t testing.TB, s *file.Store, facts ...store.Fact) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), facts))
}

// files lists the directory of a store, without the locks.
func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		if e.Name() != ".locks" && e.Name() != ".tmp" && e.Name() != ".lost" {
			names = append(names, e.Name())
		}
	}
	return names
}

// archived returns the run ids in a .history.jsonl, line by line.
func archived(t testing.TB, dir, token string) (runs []string, turns map[string]*store.Turn) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, token+".history.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	require.NoError(t, err)
	turns = map[string]*store.Turn{}
	for line := range bytes.Lines(data) {
		turn, err := store.DecodeTurn(line)
		if err != nil {
			runs = append(runs, "?")
			continue
		}
		runs = append(runs, turn.RunID)
		turns[turn.RunID] = turn
	}
	return runs, turns
}

// archivedCalls are the tool calls of the turns of session s, wherever they are.
func archivedCalls(t *testing.T, s *file.Store) map[string]int {
	t.Helper()
	out := map[string]int{}
	retired, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	for _, raw := range retired {
		turn, err := store.DecodeTurn(raw)
		require.NoError(t, err)
		out[turn.RunID] = len(turn.ToolCalls)
	}
	doc := storetest.Show(t, s, "s")
	for _, turn := range append(doc.History, *doc.Current) {
		out[turn.RunID] = len(turn.ToolCalls)
	}
	return out
}
