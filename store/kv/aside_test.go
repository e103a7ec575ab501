package kv_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

func TestCorruptSessionIsSetAside(t *testing.T) {
	t.Parallel()
	put := func(value string) func(*testing.T, jetstream.JetStream) {
		return func(t *testing.T, js jetstream.JetStream) {
			t.Helper()
			_, err := js.Publish(t.Context(), "$KV.S.s", []byte(value))
			require.NoError(t, err)
		}
	}
	for name, damage := range map[string]func(*testing.T, jetstream.JetStream){
		"empty":               put(""),
		"unknown kind":        put(`{"history":[]}`),
		"invalid compression": put("s\x05abc"),
		"cut short":           put("r{\"v\":1}\n{\"current\":"),
		"another shape":       put("r{\"v\":1}\n{\"current\":\"x\"}\n"),
		"all chunks missing":  put("cabc\ndef"),
		"one chunk missing":   func(t *testing.T, js jetstream.JetStream) { damageChunk(t, js, false) },
		"one chunk replaced":  func(t *testing.T, js jetstream.JetStream) { damageChunk(t, js, true) },
		"a bare session file": put(`r{"sessionId":"s","current":null,"history":[]}`),
	} {
		t.Run(name, func(t *testing.T) {
			ns := newServer(t, 8<<10)
			js := connect(t, ns)
			opts := store.Options{HistoryLimit: 200}
			writer := open(t, js, opts)
			for n := range int64(10) {
				apply(t, writer, long("s", n, 2000)...)
			}
			require.NotEmpty(t, chunks(keys(t, js)))
			damage(t, js)
			stream, err := js.Stream(t.Context(), "KV_S")
			require.NoError(t, err)
			bad, err := stream.GetLastMsgForSubject(t.Context(), "$KV.S.s")
			require.NoError(t, err)

			_, err = writer.Get(t.Context(), "s")
			require.ErrorIs(t, err, store.ErrCorrupt)
			summaries, err := writer.List(t.Context())
			require.NoError(t, err)
			require.Empty(t, summaries)

			var (
				mu     sync.Mutex
				lost   []string
				logged bytes.Buffer
				all    sync.WaitGroup
				stores []*kv.Store
			)
			for i := range 3 {
				o := opts
				o.Now = func() time.Time { return time.UnixMilli(1234567890123) }
				o.Logger = slog.New(slog.NewJSONHandler(&lockedBuffer{mu: &mu, b: &logged}, nil))
				o.Lost = func(token string) {
					mu.Lock()
					lost = append(lost, token)
					mu.Unlock()
					// The store can be used in it: the session is not locked.
					apply(t, stores[i], storetest.Begin(token, "again", -1))
				}
				stores = append(stores, open(t, connect(t, ns), o))
			}
			for i, s := range stores {
				all.Go(func() {
					if err := s.Apply(t.Context(), []store.Fact{storetest.Begin("s", fmt.Sprint("new", i), int64(i))}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			require.Equal(t, []string{"s"}, lost, "exactly one process sets it aside")
			require.Equal(t, 1, strings.Count(logged.String(), "setting aside"), logged.String())
			aside, err := stream.GetLastMsgForSubject(t.Context(), "$KV.S.s.x.1234567890123")
			require.NoError(t, err)
			require.Equal(t, string(bad.Data), string(aside.Data))
			doc := storetest.Show(t, stores[0], "s")
			require.Len(t, doc.History, 3)
			require.Equal(t, "new2", doc.Current.RunID)
		})
	}
}

// damageChunk removes a chunk or replaces its content.
func damageChunk(t *testing.T, js jetstream.JetStream, other bool) {
	t.Helper()
	subject := "$KV.S." + chunks(keys(t, js))[0]
	stream, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(subject)))
	if other {
		_, err := js.Publish(t.Context(), subject, []byte("rsomething else"))
		require.NoError(t, err)
	}
}

func TestSessionOfALaterVersionIsNotChanged(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1})
	_, err := js.Publish(t.Context(), "$KV.S.s", []byte("r{\"v\":2}\nsomething new"))
	require.NoError(t, err)
	require.ErrorContains(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r", 0)}), "unknown session format")
	_, err = s.Get(t.Context(), "s")
	require.ErrorContains(t, err, "unknown session format")
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, summaries)
	require.Equal(t, []string{"s"}, keys(t, js))
}

func TestCorruptRetiredTurnIsSetAside(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 0})
	for n := range int64(4) {
		apply(t, s, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	for _, key := range []string{"s.h.r0", "s.h.strange"} {
		_, err := js.Publish(t.Context(), "$KV.S."+key, []byte("r{"))
		require.NoError(t, err)
	}
	var (
		mu     sync.Mutex
		logged bytes.Buffer
		lost   []string
	)
	opts := store.Options{
		Logger: slog.New(slog.NewJSONHandler(&lockedBuffer{mu: &mu, b: &logged}, nil)),
		Lost:   func(token string) { lost = append(lost, token) },
		Now:    func() time.Time { return time.UnixMilli(1234567890123) },
	}
	fresh := open(t, js, opts)
	require.Len(t, archived(t, fresh, "s"), 2, "a reader returns the readable turns")
	require.Equal(t, 2, strings.Count(logged.String(), "omitting corrupt retired turn"), logged.String())
	require.NotContains(t, strings.Join(keys(t, js), "\n"), ".x.", "a reader changes nothing")

	apply(t, fresh, storetest.Call("s", "r0", 10), storetest.Call("s", "", 1), storetest.Begin("s", "r4", 4))
	apply(t, fresh, storetest.Begin("s", "r5", 5))
	require.Equal(t, 2, strings.Count(logged.String(), "setting aside"), logged.String())
	require.Equal(t, []string{"s"}, lost)
	require.Subset(t, keys(t, js), []string{"s.h.r0.x.1234567890123", "s.h.strange.x.1234567890123"})
	kept := archived(t, fresh, "s")
	require.NotContains(t, kept, "r0")
	require.Contains(t, kept["r1"], "toolCallId")
	require.Len(t, kept, 4)

	losses, err := s.Lost(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, losses)
	apply(t, s, storetest.Begin("s", "r0", 0))
	apply(t, s, storetest.Begin("s", "r6", 6))
	require.Contains(t, archived(t, fresh, "s")["r0"], "call-r0-10")
	require.Equal(t, []string{"s"}, lost, "once")
}

// A late process does not overwrite a turn that was set aside and rebuilt.
func TestLateProcessDoesNotOverwriteARebuiltTurn(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	opts := store.Options{HistoryLimit: 0}
	s := open(t, js, opts)
	begin, call := storetest.Begin("s", "r0", 0), storetest.Call("s", "r0", 5)
	apply(t, s, begin)
	apply(t, s, storetest.Begin("s", "r1", 1)) // r0 leaves
	late, err := kv.Open(t.Context(), &interrupted{JetStream: js, beforePurge: func() {}, before: func() {
		apply(t, s, call)
		apply(t, s, storetest.Begin("s", "r2", 2)) // r0 has its key, with the call
		_, err := js.Publish(t.Context(), "$KV.S.s.h.r0", []byte("]"))
		require.NoError(t, err)
		again := open(t, js, opts)
		apply(t, again, begin, call) // r0 leaves once more
	}}, bucket("S"), opts)
	require.NoError(t, err)
	apply(t, late, storetest.Begin("s", "r3", 3))
	apply(t, late, storetest.Begin("s", "r4", 4))
	require.Contains(t, archived(t, s, "s")["r0"], "call-r0-5")
}

func TestCorruptLeavingTurnDoesNotAffectTheOthers(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 0})
	apply(t, s, storetest.Begin("s", "r0", 0), storetest.Begin("s", "r1", 1), storetest.Begin("s", "r2", 2))
	stream, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	m, err := stream.GetLastMsgForSubject(t.Context(), "$KV.S.s")
	require.NoError(t, err)
	spoilt := bytes.Replace(m.Data, []byte(`{"runId":"r0"`), []byte(`{"runId":"r0`), 1)
	require.NotEqual(t, m.Data, spoilt)
	_, err = js.Publish(t.Context(), "$KV.S.s", spoilt)
	require.NoError(t, err)
	apply(t, s, storetest.Begin("s", "r3", 3))
	losses, err := s.Lost(t.Context())
	require.NoError(t, err)
	require.Len(t, losses, 1)
	require.Len(t, archived(t, s, "s"), 2, "r1 and r2")
	require.Equal(t, "r3", storetest.Show(t, s, "s").Current.RunID)
	apply(t, s, storetest.Begin("s", "r0", 0))
	require.Len(t, archived(t, s, "s"), 3)
}

func TestKeyDeletedByAnOperatorIsNotFound(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1})
	apply(t, s, storetest.Begin("s", "r", 0))
	bucket, err := js.KeyValue(t.Context(), "S")
	require.NoError(t, err)
	require.NoError(t, bucket.Delete(t.Context(), "s"))
	_, err = s.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, summaries)
	apply(t, s, storetest.Begin("s", "r2", 2))
	require.Equal(t, "r2", storetest.Show(t, s, "s").Current.RunID)
	losses, err := s.Lost(t.Context())
	require.NoError(t, err)
	require.Len(t, losses, 1, "the next fact marks it for a rebuild")
	require.Equal(t, "s", losses[0].Token)
}
