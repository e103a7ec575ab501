package kv

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/store"
	"intenthint/store/storetest"
)

// What is forgotten leaves neither its document nor the index of its retired
// turns in memory; other sessions stay there.
func TestForgottenSessionsLeaveTheMemory(t *testing.T) {
	t.Parallel()
	js := natstest.JetStream(t, natstest.Start(t, nil))
	buckets := 0
	for name, row := range map[string]struct {
		forget func(ctx context.Context, s *Store) error
		all    bool
	}{
		"a removed session": {forget: func(ctx context.Context, s *Store) error { _, err := s.Remove(ctx, "s"); return err }},
		"a session without a document, removed": {forget: func(ctx context.Context, s *Store) error {
			if err := s.bucket.purge(ctx, "s", anyRevision); err != nil { // by an operator
				return err
			}
			_, err := s.Remove(ctx, "s")
			return err
		}},
		"an expired session": {forget: func(ctx context.Context, s *Store) error {
			m, err := s.bucket.get(ctx, "s")
			if err == nil {
				_, err = s.remove(ctx, m)
			}
			return err
		}},
		"a lost session": {forget: func(ctx context.Context, s *Store) error {
			if err := s.MarkLost(ctx, "s"); err != nil {
				return err
			}
			_, err := s.Lost(ctx)
			return err
		}},
		"a rebuild": {all: true, forget: func(ctx context.Context, s *Store) error {
			rebuild, _, err := s.Rebuilding(ctx)
			if err == nil {
				rebuild.Release()
			}
			return err
		}},
	} {
		buckets++
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), js, jetstream.KeyValueConfig{Bucket: fmt.Sprint("B", buckets), History: 1}, store.Options{HistoryLimit: 0})
			require.NoError(t, err)
			for _, session := range []string{"s", "other"} {
				for i, run := range []string{"r0", "r1", "r2"} {
					require.NoError(t, s.Apply(t.Context(), []store.Fact{storetest.Begin(session, run, int64(i)*10)}))
				}
				// It looks for the turn before a time.
				require.NoError(t, s.Apply(t.Context(), []store.Fact{storetest.Call(session, "", 5)}))
			}
			in := func(session string) [2]bool {
				_, entry := s.entries.Get(session)
				_, index := s.indexes.Get(session)
				return [2]bool{entry, index}
			}
			require.Equal(t, [2]bool{true, true}, in("s"))
			require.NoError(t, row.forget(t.Context(), s))
			require.Equal(t, [2]bool{}, in("s"))
			require.Equal(t, [2]bool{!row.all, !row.all}, in("other"))
		})
	}
}
