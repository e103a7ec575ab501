package kv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

func TestStateOfADeletedBucketIsNotUsedInTheNext(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	opts := store.Options{HistoryLimit: 0}
	late := open(t, js, opts)
	// late remembers r0 as leaving and not written yet.
	apply(t, late, storetest.Begin("s", "r0", 0))
	apply(t, late, storetest.Begin("s", "r1", 1))
	rebuild, ok, err := late.Rebuilding(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	revision := func() uint64 {
		stream, err := js.Stream(t.Context(), "KV_S")
		require.NoError(t, err)
		return stream.CachedInfo().State.LastSeq
	}
	before := revision()
	require.NoError(t, js.DeleteKeyValue(t.Context(), "S"))

	next := open(t, js, opts)
	apply(t, next, storetest.Begin("s", "r0", 0), storetest.Call("s", "r0", 5))
	apply(t, next, storetest.Begin("s", "r1", 1))
	require.Greater(t, revision(), before, "revisions are not reused")
	require.ErrorContains(t, rebuild.Finish(t.Context(), store.Source{Stream: "E"}), "lost during rebuild")
	source, err := next.Source(t.Context())
	require.NoError(t, err)
	require.Zero(t, source)
	apply(t, late, storetest.Begin("s", "r2", 2))
	require.Contains(t, archived(t, next, "s")["r0"], "call-r0-5", "late has not overwritten the newer turn")
}

func TestBucketJustCreatedByAnotherProcessIsFound(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	apply(t, open(t, js, store.Options{HistoryLimit: 1}), storetest.Begin("s", "r", 0))
	late := open(t, &behind{js, 3}, store.Options{HistoryLimit: 1})
	require.Equal(t, "r", storetest.Show(t, late, "s").Current.RunID)
}

func TestBucketIsCreatedOnceOldFilesAreDeleted(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	_, err := kv.Open(t.Context(), &deleting{js, 1000}, bucket("S"), store.Options{})
	require.ErrorContains(t, err, "error creating store", "the fault may be permanent")
	apply(t, open(t, &deleting{js, 3}, store.Options{HistoryLimit: 1}), storetest.Begin("s", "r", 0))
}

func TestManyWritesAreRetriedWhileTheBucketIsMissing(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 5})
	require.NoError(t, js.DeleteStream(t.Context(), "KV_S"))
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			f := storetest.Begin(fmt.Sprint("s", i), "r", 1)
			f.Begin.Conversation = nil
			assert.NoError(t, s.Apply(t.Context(), []store.Fact{f}))
		})
	}
	open(t, js, store.Options{HistoryLimit: 5})
	all.Wait()
}

// Facts are written again after a loss even if a process has them in memory.
func TestFactsAreWrittenAgainAfterALoss(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	facts := []store.Fact{storetest.Begin("s", "r0", 0), storetest.Call("s", "r0", 1)}
	for name, lose := range map[string]func(s, other *kv.Store){
		"the bucket": func(s, _ *kv.Store) {
			require.NoError(t, js.DeleteKeyValue(t.Context(), "S"))
			require.NoError(t, s.Check(t.Context()))
			_, _, err := s.Rebuilding(t.Context())
			require.NoError(t, err)
		},
		"a session": func(s, other *kv.Store) {
			_, err := js.Publish(t.Context(), "$KV.S.s", []byte("]"))
			require.NoError(t, err)
			apply(t, other, storetest.Begin("s", "r1", 10))
			losses, err := s.Lost(t.Context())
			require.NoError(t, err)
			require.Len(t, losses, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, js, store.Options{HistoryLimit: 5})
			apply(t, s, facts...)
			lose(s, open(t, js, store.Options{HistoryLimit: 5}))
			apply(t, s, facts...)
			require.Contains(t, document(t, open(t, js, store.Options{}), "s"), "call-r0-1")
		})
	}
}

func TestExistingBucketIsNotChanged(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	_, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "S", History: 5, Description: "mine", MaxValueSize: 4 << 10, Storage: jetstream.MemoryStorage})
	require.NoError(t, err)
	s := open(t, js, store.Options{HistoryLimit: 3})
	for n := range int64(10) {
		apply(t, s, long("s", n, 1500)...)
		apply(t, s, storetest.End("s", fmt.Sprint("r", n), n*1000+2))
	}
	require.Len(t, storetest.Show(t, s, "s").History, 3)
	require.Len(t, archived(t, s, "s"), 6)
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, summaries, 1)
	stream, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	require.Equal(t, "mine", stream.CachedInfo().Config.Description)
	require.EqualValues(t, 5, stream.CachedInfo().Config.MaxMsgsPerSubject)
}

func TestUserWithoutCreatePermissionUsesAnExistingBucket(t *testing.T) {
	t.Parallel()
	permissions := &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.INFO"}},
		Subscribe: &server.SubjectPermission{Allow: []string{">"}},
	}
	ns := natstest.Start(t, &server.Options{
		JetStream: true,
		Users:     []*server.User{{Username: "admin", Password: "a"}, {Username: "user", Password: "u", Permissions: permissions}},
	})
	as := func(name, password string) jetstream.JetStream {
		return natstest.JetStream(t, ns, nats.UserInfo(name, password))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := kv.Open(ctx, as("user", "u"), bucket("S"), store.Options{})
	require.ErrorContains(t, err, "session bucket S")
	open(t, as("admin", "a"), store.Options{})
	s := open(t, as("user", "u"), store.Options{HistoryLimit: 1})
	for n := range int64(4) {
		apply(t, s, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	require.Len(t, archived(t, s, "s"), 2)
	require.NoError(t, s.Check(t.Context()))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	ns := newServer(t, 0)
	js := connect(t, ns)
	s := open(t, js, store.Options{HistoryLimit: 1})
	require.NoError(t, s.Check(t.Context()))
	require.NoError(t, s.Check(t.Context()))
	apply(t, s, storetest.Begin("s", "r0", 0))
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, summaries, 1, "a check adds no session")

	t.Run("a missing bucket is created", func(t *testing.T) {
		require.NoError(t, js.DeleteStream(t.Context(), "KV_S"))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var passing interface{ Temporary() bool }
		require.ErrorAs(t, s.Apply(short, []store.Fact{storetest.Begin("s", "r1", 1)}), &passing)
		require.True(t, passing.Temporary(), "the facts did not cause it")
		require.NoError(t, s.Check(t.Context()))
		apply(t, s, storetest.Begin("s", "r1", 1))
		require.Equal(t, "r1", storetest.Show(t, s, "s").Current.RunID)
	})
	t.Run("a sealed bucket", func(t *testing.T) {
		stream, err := js.Stream(t.Context(), "KV_S")
		require.NoError(t, err)
		cfg := stream.CachedInfo().Config
		cfg.Sealed, cfg.AllowRollup = true, false
		_, err = js.UpdateStream(t.Context(), cfg)
		require.NoError(t, err)
		require.Error(t, s.Check(t.Context()))
	})
	t.Run("a server that is down", func(t *testing.T) {
		ns.Shutdown()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Error(t, s.Check(short))
	})
}
