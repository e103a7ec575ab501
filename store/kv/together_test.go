package kv_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// Batches give the documents that single puts give, also when two processes
// write the same sessions, which refuses their batches.
func TestSessionsThatAreWrittenTogether(t *testing.T) {
	for _, row := range []struct {
		name                string
		processes, replicas int
	}{
		{"one process", 1, 1},
		{"two processes", 2, 1},
		{"one process, three replicas", 1, 3},
		{"two processes, three replicas", 2, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			var servers []*server.Server
			if row.replicas == 1 {
				servers = append(servers, newServer(t, 0))
			} else if testing.Short() {
				t.Skip("takes seconds")
			} else {
				servers = newCluster(t)
			}
			start := func(n int, name string) *kv.Store {
				cfg := bucket(name)
				cfg.Replicas = row.replicas
				js := connect(t, servers[n%len(servers)])
				var s *kv.Store
				require.Eventually(t, func() (ok bool) {
					var err error
					s, err = kv.Open(t.Context(), js, cfg, store.Options{HistoryLimit: 2})
					return err == nil
				}, time.Minute, 50*time.Millisecond)
				return s
			}
			checkTogether(t, row.processes, start)
		})
	}
}

func checkTogether(t *testing.T, processes int, start func(n int, bucket string) *kv.Store) {
	t.Helper()
	const sessions = 100
	var stores []*kv.Store
	var crowds []*kv.Crowd
	for n := range processes {
		s := start(n, "S")
		stores, crowds = append(stores, s), append(crowds, kv.CrowdOf(s))
	}
	plain := start(0, "plain")
	for turn := range int64(4) {
		for _, c := range crowds {
			require.Eventually(t, c.Hold, time.Minute, time.Millisecond)
		}
		run := fmt.Sprint("r", turn)
		var all sync.WaitGroup
		for i := range sessions {
			session := fmt.Sprint("s", i)
			facts := []store.Fact{storetest.Begin(session, run, turn*10), storetest.Call(session, run, turn*10+1), storetest.End(session, run, turn*10+2)}
			apply(t, plain, facts...)
			for n, s := range stores {
				mine := facts
				if processes > 1 {
					mine = []store.Fact{facts[n], facts[2]} // both have the end
				}
				all.Go(func() { assert.NoError(t, s.Apply(t.Context(), mine)) })
			}
		}
		for _, c := range crowds {
			require.Eventually(t, c.Release, time.Minute, time.Millisecond)
		}
		all.Wait()
	}
	taken, refused := 0, 0
	for _, c := range crowds {
		taken, refused = taken+int(c.Taken.Load()), refused+int(c.Refused.Load())
	}
	t.Log(taken, "batches taken,", refused, "refused")
	require.Positive(t, taken)
	if processes == 1 {
		require.Zero(t, refused, "every revision is the one that its batch gave it")
	} else {
		require.Positive(t, refused)
	}
	for i := range sessions {
		session := fmt.Sprint("s", i)
		require.Equal(t, document(t, plain, session), document(t, stores[0], session))
		require.Equal(t, archived(t, plain, session), archived(t, stores[0], session))
	}
}

// A bucket that is away for a moment costs no event its turn, and no more so
// when many are written together.
func TestABatchIsTriedAgainWithABucketThatWasAway(t *testing.T) {
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 5})
	crowd := kv.CrowdOf(s)
	require.True(t, crowd.Hold())
	require.NoError(t, js.DeleteStream(t.Context(), "KV_S"))
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			f := storetest.Begin(fmt.Sprint("s", i), "r", 1)
			f.Begin.Conversation = nil
			assert.NoError(t, s.Apply(t.Context(), []store.Fact{f}))
		})
	}
	require.Eventually(t, crowd.Release, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return crowd.Refused.Load() > 0 }, time.Minute, time.Millisecond)
	_, err := kv.Create(t.Context(), js, bucket("S"))
	require.NoError(t, err)
	all.Wait()
	require.Zero(t, crowd.Taken.Load())
}
