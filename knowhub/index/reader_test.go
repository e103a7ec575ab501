package index_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/knowhub/index"
)

func TestSearchWaitsForAConnection(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
	require.NoError(t, x.Apply(t.Context(), some(3)))
	var waiting sync.WaitGroup
	require.NoError(t, x.HoldReaders(t.Context(), func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := x.Search(ctx, index.Query{Text: "many tasks"})
		require.ErrorIs(t, err, context.Canceled)
		for range 20 {
			waiting.Go(func() {
				hits, err := x.Search(t.Context(), index.Query{Text: "many tasks"})
				if err != nil || len(hits) != 3 {
					t.Errorf("%d hits, error %v", len(hits), err)
				}
			})
		}
	}))
	waiting.Wait()
}

func TestSearchAfterItsTime(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
	require.NoError(t, x.Apply(t.Context(), some(3)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // a connection may be had before the end of the time is seen
		_, err := x.Search(ctx, index.Query{Text: "many tasks"})
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Len(t, search(t, x, "many tasks"), 3)
	for range 20 { // all of it has been read
		_, err := x.Search(ctx, index.Query{Text: "many tasks"})
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestSearchAfterClose(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
	require.NoError(t, x.Apply(t.Context(), some(3)))
	require.NoError(t, x.Close())
	require.NoError(t, x.Close())
	_, err := x.Search(t.Context(), index.Query{Text: "many tasks"})
	require.ErrorContains(t, err, "closed")
}

// A connection that is still in a transaction fails once, and is replaced.
func TestConnectionLeftInATransaction(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "knowhub.db"))
	require.NoError(t, x.Apply(t.Context(), some(3)))
	require.NoError(t, x.LeaveTransaction(t.Context()))
	failed := 0
	for range 20 {
		if _, err := x.Search(t.Context(), index.Query{Text: "many tasks"}); err != nil {
			failed++
		}
	}
	require.Equal(t, 1, failed)
}
