package kv_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, maxPayload := range map[string]int32{"usual messages": 0, "small messages": 4 << 10} {
		t.Run(name, func(t *testing.T) {
			ns := newServer(t, maxPayload)
			buckets, names := 0, map[store.Store]string{}
			storetest.Run(t, func(t *testing.T, limit int) []store.Store {
				buckets++
				out := make([]store.Store, 3)
				for i := range out {
					s, err := kv.Open(t.Context(), connect(t, ns), bucket(fmt.Sprint("S", buckets)), store.Options{HistoryLimit: limit})
					require.NoError(t, err)
					out[i] = s
					names[s] = fmt.Sprint("S", buckets)
				}
				return out
			}, spoils(func(s store.Store) (jetstream.JetStream, string) { return connect(t, ns), names[s] }))
		})
	}
}

// spoils damages values of a session; where returns the bucket.
func spoils(where func(store.Store) (jetstream.JetStream, string)) map[string]storetest.Spoil {
	out := map[string]storetest.Spoil{}
	for filter, what := range map[string]string{"": "the session", ".h.*": "retired turns"} {
		for how, spoil := range map[string]func([]byte) []byte{
			"emptied":     func([]byte) []byte { return nil },
			"overwritten": func([]byte) []byte { return []byte("r\xff]") },
			"cut":         func(b []byte) []byte { return b[:len(b)/2] },
			"in chunks":   func([]byte) []byte { return []byte("cabc\ndef") },
		} {
			out[what+" "+how] = func(t *testing.T, s store.Store, token string) {
				js, name := where(s)
				keys, err := js.KeyValue(t.Context(), name)
				require.NoError(t, err)
				lister, err := keys.ListKeysFiltered(t.Context(), token+filter)
				require.NoError(t, err)
				all := []string{}
				for key := range lister.Keys() {
					all = append(all, key)
				}
				require.NotEmpty(t, all)
				slices.Sort(all)
				for _, key := range all[:(len(all)+1)/2] {
					entry, err := keys.Get(t.Context(), key)
					require.NoError(t, err)
					_, err = keys.Put(t.Context(), key, spoil(entry.Value()))
					require.NoError(t, err)
				}
			}
		}
	}
	return out
}

func TestStoreWorksWithoutACache(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1, CacheBytes: 1})
	for i := range int64(5) {
		for _, session := range []string{"a", "b"} {
			apply(t, s, storetest.Begin(session, fmt.Sprint("r", i), i), storetest.Call(session, "cron", i))
		}
	}
	for _, session := range []string{"a", "b"} {
		require.Equal(t, "r4", storetest.Show(t, s, session).Current.RunID)
		require.Len(t, archived(t, s, session), 3)
	}
}

func TestNewSessionIsWrittenWithoutReading(t *testing.T) {
	t.Parallel()
	ns := newServer(t, 0)
	js, others := connect(t, ns), connect(t, ns)
	s := open(t, js, store.Options{HistoryLimit: 1})
	looks, err := js.Conn().SubscribeSync("$JS.API.STREAM.MSG.GET.KV_S")
	require.NoError(t, err)
	looked := func() int {
		// The reply may arrive before this subscription sees the request.
		require.NoError(t, others.Conn().Flush())
		require.NoError(t, js.Conn().Flush())
		n, _, err := looks.Pending()
		require.NoError(t, err)
		return n
	}
	first, second := storetest.Begin("s", "r1", 1), storetest.Begin("s", "r2", 2)
	first.Begin.Conversation = nil
	apply(t, s, first)
	apply(t, s, second)
	require.Zero(t, looked())
	apply(t, s, storetest.Begin("with earlier messages", "r1", 1))
	require.Equal(t, 1, looked())
	want := document(t, s, "s")

	// Another process gets the begin again, and an end.
	late := open(t, others, store.Options{HistoryLimit: 1})
	apply(t, late, first)
	require.Equal(t, want, document(t, s, "s"))
	apply(t, late, storetest.End("s", "r2", 3))
	require.Equal(t, document(t, late, "s"), document(t, s, "s"))
	require.Equal(t, "r2", storetest.Show(t, s, "s").Current.RunID)
	require.Len(t, storetest.Show(t, s, "s").History, 1)
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1})
	facts := []store.Fact{storetest.Begin("s", "r0", 0), storetest.Begin("s", "r1", 1), storetest.Begin("s", "r2", 2), storetest.Call("s", "cron", 3)}
	apply(t, s, facts...)
	apply(t, s, facts...) // the leaving turn gets its key
	stream, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	before := stream.CachedInfo().State.LastSeq
	require.EqualValues(t, 1, before-stream.CachedInfo().Config.FirstSeq, "two writes")
	for _, s := range []*kv.Store{s, open(t, js, store.Options{HistoryLimit: 1})} {
		apply(t, s, facts...)
		for _, f := range facts {
			apply(t, s, f)
		}
	}
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, info.State.LastSeq)
}
