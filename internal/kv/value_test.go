package kv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
)

func TestPutComparesRevisions(t *testing.T) {
	t.Parallel()
	b := New(natstest.JetStream(t, natstest.Start(t, nil)), jetstream.KeyValueConfig{Bucket: "T"})
	first, err := b.Put(t.Context(), "a", 1, 0)
	require.NoError(t, err)
	_, err = b.Put(t.Context(), "a", 2, 0)
	require.True(t, IsConflict(err), err)
	second, err := b.Put(t.Context(), "a", 2, first)
	require.NoError(t, err)
	_, err = b.Put(t.Context(), "a", 3, first)
	require.True(t, IsConflict(err), err)
	got, err := Get[int](t.Context(), b, "a")
	require.NoError(t, err)
	require.Equal(t, 2, got.V)
	require.Equal(t, second, got.Revision)
	_, err = b.Put(t.Context(), "a", make(chan int), second)
	require.Error(t, err)
	require.False(t, IsConflict(err))

	got, err = Get[int](t.Context(), b, "none")
	require.NoError(t, err)
	require.Zero(t, got)
	text, err := b.Put(t.Context(), "b", "text", 0)
	require.NoError(t, err)
	got, err = Get[int](t.Context(), b, "b")
	require.NoError(t, err)
	require.Error(t, got.Broken)
	require.Equal(t, text, got.Revision)
}

// Every change counts, whichever process and goroutine makes it.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	const processes, goroutines = 4, 5
	config := jetstream.KeyValueConfig{Bucket: "T"}
	add := func(known *Value[int]) (bool, error) {
		known.V++
		return true, nil
	}
	var work sync.WaitGroup
	for range processes {
		b := New(natstest.JetStream(t, ns), config)
		for range goroutines {
			work.Go(func() {
				_, err := Change(t.Context(), b, "n", add)
				require.NoError(t, err)
			})
		}
	}
	work.Wait()
	b := New(natstest.JetStream(t, ns), config)
	got, err := Get[int](t.Context(), b, "n")
	require.NoError(t, err)
	require.Equal(t, processes*goroutines, got.V)

	var removed atomic.Int32
	for range processes {
		b := New(natstest.JetStream(t, ns), config)
		work.Go(func() {
			require.NoError(t, Remove(t.Context(), b, "n", func(*Value[int]) bool {
				removed.Add(1)
				return true
			}))
		})
	}
	work.Wait()
	require.Positive(t, removed.Load())
	got, err = Get[int](t.Context(), b, "n")
	require.NoError(t, err)
	require.Zero(t, got.Revision)
	known, err := Change(t.Context(), b, "n", add)
	require.NoError(t, err)
	require.Equal(t, 1, known.V, "a deleted key begins anew")
}

func TestChangeEndsWithItsError(t *testing.T) {
	t.Parallel()
	b, cause := New(natstest.JetStream(t, natstest.Start(t, nil)), jetstream.KeyValueConfig{Bucket: "T"}), errors.New("no")
	_, err := Change(t.Context(), b, "a", func(*Value[int]) (bool, error) { return true, cause })
	require.Equal(t, cause, err, "as it is")
	known, err := Change(t.Context(), b, "a", func(*Value[int]) (bool, error) { return false, nil })
	require.NoError(t, err)
	require.Zero(t, known.Revision)
	began := 0
	_, err = Change(t.Context(), b, "a", func(*Value[int]) (bool, error) {
		began++
		return true, b.Use(t.Context(), func(kv jetstream.KeyValue) error { // another writer is always faster
			_, err := kv.PutString(t.Context(), "a", "1")
			return err
		})
	})
	require.True(t, IsConflict(err), err)
	require.ErrorContains(t, err, "key a: ")
	require.Equal(t, ConflictRetry.Attempts, began)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = Change(ended, b, "a", func(*Value[int]) (bool, error) { return true, nil })
	require.ErrorIs(t, err, context.Canceled)
}

func TestKindsOfErrors(t *testing.T) {
	for _, row := range []struct {
		err                  error
		conflict, gone, away bool
	}{
		{ErrConflict, true, false, false},
		{jetstream.ErrKeyExists, true, false, false},
		{jetstream.ErrKeyRevisionMismatch, true, false, false},
		{&jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}, true, false, false},
		{&jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequenceConstant}, true, false, false},
		{jetstream.ErrStreamNotFound, false, true, true},
		{jetstream.ErrBucketNotFound, false, true, true},
		{jetstream.ErrNoStreamResponse, false, true, true},
		{nats.ErrNoResponders, false, true, true},
		{context.DeadlineExceeded, false, false, true},
		{nats.ErrTimeout, false, false, true},
		{nats.ErrDisconnected, false, false, true},
		{nats.ErrConnectionClosed, false, false, true},
		{nats.ErrConnectionReconnecting, false, false, true},
		{&jetstream.APIError{Code: 503}, false, false, true},
		{&jetstream.APIError{Code: 400}, false, false, false},
		{context.Canceled, false, false, false},
		{errors.New("full"), false, false, false},
	} {
		t.Run(fmt.Sprint(row.err), func(t *testing.T) {
			err := fmt.Errorf("bucket: %w", row.err)
			require.Equal(t, row.conflict, IsConflict(err))
			require.Equal(t, row.gone, isGone(err))
			require.Equal(t, row.away, IsAway(err))
		})
	}
}

func TestLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLocks()
		blocks := func(lock func(context.Context) (func(), error)) bool {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				end, err := lock(ctx)
				if err == nil {
					end()
				}
				done <- err
			}()
			synctest.Wait()
			waits := len(done) == 0
			cancel()
			err := <-done
			if waits {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.NoError(t, err)
			}
			return waits
		}
		one := func(key string) func(context.Context) (func(), error) {
			return func(ctx context.Context) (func(), error) { return l.Lock(ctx, key) }
		}
		unlock, err := l.Lock(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, blocks(one("a")))
		require.False(t, blocks(one("b")))
		require.True(t, blocks(l.LockAll))
		require.False(t, blocks(one("b")), "an attempt to lock all that ended holds none")
		unlock()
		unlock, err = l.LockAll(t.Context())
		require.NoError(t, err)
		require.True(t, blocks(one("a")))
		require.True(t, blocks(one("b")))
		unlock()
		require.False(t, blocks(l.LockAll))
	})
}
