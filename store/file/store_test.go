package file_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/file"
	"intenthint/store/storetest"
)

func open(t testing.TB, dir string, limit int) *file.Store {
	t.Helper()
	s, err := file.Open(dir, file.Options{HistoryLimit: limit})
	require.NoError(t, err)
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, limit int) []store.Store {
		dir := t.TempDir()
		return []store.Store{open(t, dir, limit), open(t, dir, limit), open(t, dir, limit)}
	})
}
