package kv_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

// newServer starts a server on a free port; a maxPayload of 0 is the default.
func newServer(t testing.TB, maxPayload int32) *server.Server {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoLog: true, NoSigs: true, MaxPayload: maxPayload,
	})
	require.NoError(t, err)
	go ns.Start()
	require.True(t, ns.ReadyForConnections(10*time.Second))
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	return ns
}

// connect returns JetStream over a connection of its own.
func connect(t testing.TB, ns *server.Server) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(ns.ClientURL())
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return js
}

// bucket is the configuration of a bucket of tests.
func bucket(name string) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: name, History: 1, Storage: jetstream.FileStorage}
}

func open(t testing.TB, js jetstream.JetStream, opts store.Options) *kv.Store {
	t.Helper()
	s, err := kv.Open(t.Context(), js, bucket("S"), opts)
	require.NoError(t, err)
	return s
}

func apply(t testing.TB, s store.Applier, facts ...store.Fact) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), facts))
}

func document(t testing.TB, s store.Reader, session string) string {
	t.Helper()
	raw, err := s.Get(t.Context(), session)
	require.NoError(t, err)
	return string(raw)
}

// keys are the keys of the bucket, with their chunks and all.
func keys(t testing.TB, js jetstream.JetStream) []string {
	t.Helper()
	s, err := js.Stream(t.Context(), "KV_S")
	require.NoError(t, err)
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("$KV.S.>"))
	require.NoError(t, err)
	out := []string{}
	for subject := range info.State.Subjects {
		out = append(out, strings.TrimPrefix(subject, "$KV.S."))
	}
	slices.Sort(out)
	return out
}

func TestConformance(t *testing.T) {
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

// spoils damage values of a session in some ways; where says in which bucket.
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

// long makes the facts of a turn with so much in it that compression does not
// help.
func long(session string, n int64, bytes int) []store.Fact {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	text := make([]byte, bytes)
	for i := range text {
		text[i] = 'a' + byte(r.IntN(26))
	}
	begin := storetest.Begin(session, fmt.Sprint("r", n), n*1000)
	begin.Begin.Input = string(text)
	return []store.Fact{begin, storetest.Call(session, begin.RunID, n*1000+1)}
}

func chunks(all []string) (out []string) {
	for _, key := range all {
		if strings.Contains(key, ".c.") {
			out = append(out, key)
		}
	}
	return out
}

func TestALargeSessionIsCutIntoChunksThatStay(t *testing.T) {
	ns := newServer(t, 16<<10)
	js := connect(t, ns)
	opts := store.Options{HistoryLimit: 200}
	s, another := open(t, js, opts), open(t, connect(t, ns), opts)
	for n := range int64(100) {
		apply(t, s, long("s", n, 3000)...)
	}
	before := chunks(keys(t, js))
	require.Greater(t, len(before), 20)
	apply(t, another, storetest.End("s", "r99", 99_500))
	after := chunks(keys(t, js))
	kept := 0
	for _, key := range after {
		if slices.Contains(before, key) {
			kept++
		}
	}
	require.LessOrEqual(t, len(after)-kept, 3, "of %d chunks most are those of before", len(after))
	require.InDelta(t, len(before), len(after), 2, "those that are not in use are gone")
	doc := storetest.Show(t, s, "s")
	require.Equal(t, "result of r99", doc.Current.Result)
	require.Len(t, doc.History, 99)
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, summaries, 1)
	require.Equal(t, 100, summaries[0].Turns)

	t.Run("a turn of its own", func(t *testing.T) {
		apply(t, s, long("large", 0, 40_000)...)
		short := open(t, js, store.Options{HistoryLimit: 0})
		apply(t, short, long("large", 1, 10)...)
		apply(t, short, long("large", 2, 10)...)
		require.Contains(t, strings.Join(keys(t, js), "\n"), "large.h.r0.c.")
		apply(t, short, storetest.End("large", "r0", 500))
		apply(t, short, long("large", 3, 10)...)
		turns, err := s.Retired(t.Context(), "large")
		require.NoError(t, err)
		require.Len(t, turns, 3)
		turn, err := store.DecodeTurn(turns[0])
		require.NoError(t, err)
		require.Len(t, turn.Input, 40_000)
		require.Equal(t, "result of r0", turn.Result)
	})
}

func TestTenThousandTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const turns = 10_000
	for name, c := range map[string]struct {
		limit      int
		maxPayload int32
	}{
		"200 in the document":                 {200, 0},
		"all in the document, small messages": {-1, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js := connect(t, newServer(t, c.maxPayload))
			s := open(t, js, store.Options{HistoryLimit: c.limit})
			r := rand.New(rand.NewPCG(1, 1))
			// As they come when everything is read from the stream again: by
			// several processes, roughly in order.
			order := make([]int, turns)
			for i := range order {
				order[i] = i
			}
			for i := range order {
				j := min(i+r.IntN(100), turns-1)
				order[i], order[j] = order[j], order[i]
			}
			for i := 0; i < turns; i += 1000 {
				var facts []store.Fact
				for _, n := range order[i : i+1000] {
					run := fmt.Sprintf("r%05d", n)
					facts = append(facts, storetest.Begin("s", run, int64(n)*10), storetest.End("s", run, int64(n)*10+5))
				}
				apply(t, s, facts...)
			}
			doc := storetest.Show(t, s, "s")
			require.Equal(t, "r09999", doc.Current.RunID)
			inDocument := turns - 1
			if c.limit >= 0 {
				inDocument = c.limit
			}
			require.Len(t, doc.History, inDocument)
			retired, err := s.Retired(t.Context(), "s")
			require.NoError(t, err)
			all := map[string]bool{doc.Current.RunID: true}
			for _, turn := range doc.History {
				all[turn.RunID] = true
			}
			for _, raw := range retired {
				turn, err := store.DecodeTurn(raw)
				require.NoError(t, err)
				require.Equal(t, "result of "+turn.RunID, turn.Result)
				all[turn.RunID] = true
			}
			require.Len(t, all, turns)
			// One more, for a turn of long ago, and one without a run id.
			late := open(t, js, store.Options{HistoryLimit: c.limit})
			apply(t, late, storetest.Call("s", "r00007", 70), storetest.Call("s", "", 83))
			if c.limit >= 0 {
				apply(t, late, storetest.Call("s", "", 94))
				kept := archived(t, s, "s")
				for _, run := range []string{"r00007", "r00008", "r00009"} {
					require.Contains(t, kept[run], `"toolCallId"`, run)
				}
			}
		})
	}
}

func TestTurnsThatLeaveAreReadBeforeTheyHaveKeysOfTheirOwn(t *testing.T) {
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1})
	for n := range int64(3) {
		apply(t, s, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	require.Equal(t, []string{"s"}, keys(t, js))
	require.Len(t, archived(t, s, "s"), 1)
	// A process that knows nothing of them gives them their keys.
	another := open(t, js, store.Options{HistoryLimit: 1})
	apply(t, another, storetest.Call("s", "r0", 0))
	require.Equal(t, []string{"s", "s.h.r0"}, keys(t, js))
	require.Contains(t, archived(t, s, "s")["r0"], "toolCallId")
	apply(t, s, storetest.Begin("s", "r3", 3), storetest.Call("s", "r0", 1))
	apply(t, s, storetest.Begin("s", "r4", 4))
	require.Equal(t, []string{"s", "s.h.r0", "s.h.r1"}, keys(t, js))
	require.Equal(t, 2, strings.Count(archived(t, another, "s")["r0"], "toolCallId"))
	require.Len(t, archived(t, another, "s"), 3)
}

// A process that is late must not put an older turn in the place of a newer
// one, and a turn that was begun to be retired and was not is retired as it is
// in the end.
func TestOfTwoThatRetireATurnTheOlderOneGivesWay(t *testing.T) {
	js := connect(t, newServer(t, 0))
	opts := store.Options{HistoryLimit: 0}
	s, late := open(t, js, opts), open(t, js, opts)
	apply(t, s, storetest.Begin("s", "r0", 0))
	apply(t, late, storetest.Begin("s", "r1", 1)) // r0 leaves, and late knows it
	apply(t, s, storetest.Call("s", "r0", 0))     // and has its key
	apply(t, s, storetest.Begin("s", "r2", 2))    // with the call
	apply(t, s, storetest.Begin("s", "r3", 3))
	apply(t, late, storetest.Begin("s", "r4", 4))
	apply(t, late, storetest.Begin("s", "r5", 5))
	kept := archived(t, s, "s")
	require.Len(t, kept, 5)
	require.Contains(t, kept["r0"], "toolCallId")
}

func TestAStoreWithoutRoomInMemoryStillWorks(t *testing.T) {
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

func TestASessionThatBeginsIsWrittenWithoutALook(t *testing.T) {
	ns := newServer(t, 0)
	js, others := connect(t, ns), connect(t, ns)
	s := open(t, js, store.Options{HistoryLimit: 1})
	looks, err := js.Conn().SubscribeSync("$JS.API.STREAM.MSG.GET.KV_S")
	require.NoError(t, err)
	looked := func() int {
		// Who asks may have the answer before others have heard the question.
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

	// Another process hears of the beginning again, and of an end.
	late := open(t, others, store.Options{HistoryLimit: 1})
	apply(t, late, first)
	require.Equal(t, want, document(t, s, "s"))
	apply(t, late, storetest.End("s", "r2", 3))
	require.Equal(t, document(t, late, "s"), document(t, s, "s"))
	require.Equal(t, "r2", storetest.Show(t, s, "s").Current.RunID)
	require.Len(t, storetest.Show(t, s, "s").History, 1)

	// It knows better now, for a while.
	before := looked()
	third := storetest.Begin("another", "r1", 1)
	third.Begin.Conversation = nil
	apply(t, late, third)
	require.Equal(t, before+1, looked())
	fourth := storetest.Begin("one more", "r1", 1)
	fourth.Begin.Conversation = nil
	apply(t, s, fourth)
	require.Equal(t, before+1, looked())
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1})
	facts := []store.Fact{storetest.Begin("s", "r0", 0), storetest.Begin("s", "r1", 1), storetest.Begin("s", "r2", 2), storetest.Call("s", "cron", 3)}
	apply(t, s, facts...)
	apply(t, s, facts...) // the turn that left gets its key
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

func TestCorruptSessionIsSetAside(t *testing.T) {
	put := func(value string) func(*testing.T, jetstream.JetStream) {
		return func(t *testing.T, js jetstream.JetStream) {
			t.Helper()
			_, err := js.Publish(t.Context(), "$KV.S.s", []byte(value))
			require.NoError(t, err)
		}
	}
	for name, damage := range map[string]func(*testing.T, jetstream.JetStream){
		"empty":                  put(""),
		"of no kind":             put(`{"history":[]}`),
		"compressed nothing":     put("s\x05abc"),
		"cut short":              put("r{\"v\":1}\n{\"current\":"),
		"of another shape":       put("r{\"v\":1}\n{\"current\":\"x\"}\n"),
		"chunks of nothing":      put("cabc\ndef"),
		"a chunk is missing":     func(t *testing.T, js jetstream.JetStream) { damageChunk(t, js, false) },
		"a chunk is another's":   func(t *testing.T, js jetstream.JetStream) { damageChunk(t, js, true) },
		"a session file by hand": put(`r{"sessionId":"s","current":null,"history":[]}`),
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
			require.Equal(t, []string{"s"}, lost, "one of them sets it aside")
			require.Equal(t, 1, strings.Count(logged.String(), "setting it aside"), logged.String())
			aside, err := stream.GetLastMsgForSubject(t.Context(), "$KV.S.s.x.1234567890123")
			require.NoError(t, err)
			require.Equal(t, string(bad.Data), string(aside.Data))
			doc := storetest.Show(t, stores[0], "s")
			require.Len(t, doc.History, 3)
			require.Equal(t, "new2", doc.Current.RunID)
		})
	}
}

// damageChunk takes a chunk away or gives it other content.
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

type lockedBuffer struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestASessionOfALaterVersionIsLeftAlone(t *testing.T) {
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1})
	_, err := js.Publish(t.Context(), "$KV.S.s", []byte("r{\"v\":2}\nsomething new"))
	require.NoError(t, err)
	require.ErrorContains(t, s.Apply(t.Context(), []store.Fact{storetest.Begin("s", "r", 0)}), "this version does not know")
	_, err = s.Get(t.Context(), "s")
	require.ErrorContains(t, err, "this version does not know")
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, summaries)
	require.Equal(t, []string{"s"}, keys(t, js))
}

func TestCorruptRetiredTurnIsSetAside(t *testing.T) {
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
	require.Len(t, archived(t, fresh, "s"), 2, "a reader shows what is there")
	require.Equal(t, 2, strings.Count(logged.String(), "leaving it out"), logged.String())
	require.NotContains(t, strings.Join(keys(t, js), "\n"), ".x.", "and changes nothing")

	apply(t, fresh, storetest.Call("s", "r0", 10), storetest.Call("s", "", 1), storetest.Begin("s", "r4", 4))
	apply(t, fresh, storetest.Begin("s", "r5", 5))
	require.Equal(t, 2, strings.Count(logged.String(), "setting it aside"), logged.String())
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

// A process that is late does not put what it has in the place of a turn that
// was set aside and made again.
func TestAProcessThatIsLateLeavesATurnThatIsMadeAgain(t *testing.T) {
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
		apply(t, again, begin, call) // it leaves once more
	}}, bucket("S"), opts)
	require.NoError(t, err)
	apply(t, late, storetest.Begin("s", "r3", 3))
	apply(t, late, storetest.Begin("s", "r4", 4))
	require.Contains(t, archived(t, s, "s")["r0"], "call-r0-5")
}

func TestOfALeavingTurnThatIsCorruptTheOthersStay(t *testing.T) {
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

func TestAKeyThatAnOperatorDeletedIsNoSession(t *testing.T) {
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
	require.Len(t, losses, 1, "and is made again when it goes on")
	require.Equal(t, "s", losses[0].Token)
}

func TestNothingOfABucketThatWasDeletedCountsInTheNext(t *testing.T) {
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
	require.Greater(t, revision(), before, "no revision comes again")
	require.ErrorContains(t, rebuild.Finish(t.Context(), store.Source{Stream: "E"}), "lost while they were made again")
	source, err := next.Source(t.Context())
	require.NoError(t, err)
	require.Zero(t, source)
	apply(t, late, storetest.Begin("s", "r2", 2))
	require.Contains(t, archived(t, next, "s")["r0"], "call-r0-5", "late has not put its older turn there")
}

// behind is JetStream at a server that has not heard yet of a new stream.
type behind struct {
	jetstream.JetStream
	unknown int
}

func (b *behind) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if b.unknown > 0 {
		b.unknown--
		return nil, jetstream.ErrStreamNotFound
	}
	return b.JetStream.Stream(ctx, name)
}

func TestABucketThatAnotherProcessHasJustMadeIsFound(t *testing.T) {
	js := connect(t, newServer(t, 0))
	apply(t, open(t, js, store.Options{HistoryLimit: 1}), storetest.Begin("s", "r", 0))
	late := open(t, &behind{js, 3}, store.Options{HistoryLimit: 1})
	require.Equal(t, "r", storetest.Show(t, late, "s").Current.RunID)
}

// deleting is JetStream while a server deletes the files of the bucket.
type deleting struct {
	jetstream.JetStream
	left int
}

func (d *deleting) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	if d.left--; d.left >= 0 {
		return nil, &jetstream.APIError{Code: 500, ErrorCode: 10049, Description: "error creating store for stream"}
	}
	return d.JetStream.CreateStream(ctx, cfg)
}

func TestABucketIsMadeOnceTheFilesOfTheLastAreGone(t *testing.T) {
	js := connect(t, newServer(t, 0))
	_, err := kv.Open(t.Context(), &deleting{js, 1000}, bucket("S"), store.Options{})
	require.ErrorContains(t, err, "error creating store", "it may be another fault")
	apply(t, open(t, &deleting{js, 3}, store.Options{HistoryLimit: 1}), storetest.Begin("s", "r", 0))
}

// What a process has in memory does not hide from it that the bucket lacks it.
func TestWhatIsMadeAgainIsWrittenAgain(t *testing.T) {
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

func TestABucketThatExistsIsUsedAsItIs(t *testing.T) {
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

func TestAUserWhoMayNotCreateIsServedByABucketThatExists(t *testing.T) {
	permissions := &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.INFO"}},
		Subscribe: &server.SubjectPermission{Allow: []string{">"}},
	}
	ns, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Users: []*server.User{{Username: "admin", Password: "a"}, {Username: "user", Password: "u", Permissions: permissions}},
	})
	require.NoError(t, err)
	go ns.Start()
	require.True(t, ns.ReadyForConnections(10*time.Second))
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	as := func(name, password string) jetstream.JetStream {
		nc, err := nats.Connect(ns.ClientURL(), nats.UserInfo(name, password), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		return js
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = kv.Open(ctx, as("user", "u"), bucket("S"), store.Options{})
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
	ns := newServer(t, 0)
	js := connect(t, ns)
	s := open(t, js, store.Options{HistoryLimit: 1})
	require.NoError(t, s.Check(t.Context()))
	require.NoError(t, s.Check(t.Context()))
	apply(t, s, storetest.Begin("s", "r0", 0))
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, summaries, 1, "a check is no session")

	t.Run("a bucket that has vanished is made again", func(t *testing.T) {
		require.NoError(t, js.DeleteStream(t.Context(), "KV_S"))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var passing interface{ Temporary() bool }
		require.ErrorAs(t, s.Apply(short, []store.Fact{storetest.Begin("s", "r1", 1)}), &passing)
		require.True(t, passing.Temporary(), "it is not the fault of the fact")
		require.NoError(t, s.Check(t.Context()))
		apply(t, s, storetest.Begin("s", "r1", 1))
		require.Equal(t, "r1", storetest.Show(t, s, "s").Current.RunID)
	})
	t.Run("a bucket that takes nothing", func(t *testing.T) {
		stream, err := js.Stream(t.Context(), "KV_S")
		require.NoError(t, err)
		cfg := stream.CachedInfo().Config
		cfg.Sealed, cfg.AllowRollup = true, false
		_, err = js.UpdateStream(t.Context(), cfg)
		require.NoError(t, err)
		require.Error(t, s.Check(t.Context()))
	})
	t.Run("a server that is away", func(t *testing.T) {
		ns.Shutdown()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Error(t, s.Check(short))
	})
}

func TestSweep(t *testing.T) {
	const keep = 24 * time.Hour
	ns := newServer(t, 8<<10)
	js := connect(t, ns)
	now := time.Now()
	opts := store.Options{HistoryLimit: 1, Now: func() time.Time { return now }}
	s, another := open(t, js, opts), open(t, connect(t, ns), opts)
	fill := func(session string) {
		for n := range int64(5) {
			apply(t, s, long(session, n, 9000)...)
		}
	}
	sweep := func() int {
		t.Helper()
		var all sync.WaitGroup
		removed := make([]int, 2)
		for i, s := range []*kv.Store{s, another} {
			all.Go(func() {
				var err error
				if removed[i], err = s.Sweep(t.Context(), keep); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		return removed[0] + removed[1]
	}
	put := func(key, value string) {
		_, err := js.Publish(t.Context(), "$KV.S."+key, []byte(value))
		require.NoError(t, err)
	}
	fill("s")
	fill("t")
	apply(t, s, storetest.Call("waiting", "cron", 1))
	put("s.x.17", "rsomething")
	before := keys(t, js)
	require.Zero(t, sweep())
	require.Equal(t, before, keys(t, js))

	// Chunks that nobody has use for go after a while, those of others stay.
	put("s.c.abc-1", "rstray")
	put("s.h.r0.c.abc-2", "rstray")
	put("nobody.c.abc-3", "rstray")
	put("u.x.18", "cabc-4")
	put("u.c.abc-4", "rset aside")
	put("u.h.x.x.19", "cabc-5")
	put("u.h.x.c.abc-5", "rset aside")
	require.Zero(t, sweep())
	require.Len(t, keys(t, js), len(before)+7)
	now = now.Add(time.Hour)
	require.Zero(t, sweep())
	want := append(slices.Clone(before), "u.x.18", "u.c.abc-4", "u.h.x.x.19", "u.h.x.c.abc-5")
	slices.Sort(want)
	require.Equal(t, want, keys(t, js))

	now = now.Add(keep)
	removed, err := s.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Equal(t, want, keys(t, js))
	// One that has just been emptied is old by this clock: both may count it.
	require.GreaterOrEqual(t, sweep(), 3)
	// What was set aside is gone, its chunks follow with the next sweep.
	sweep()
	require.Empty(t, keys(t, js), "nothing is left, no markers either")

	// A process that remembers the session begins it anew.
	for n := range int64(3) {
		apply(t, s, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	require.Equal(t, "r2", storetest.Show(t, another, "s").Current.RunID)
	turns, err := s.Retired(t.Context(), "t")
	require.NoError(t, err)
	require.Empty(t, turns)
}

func TestASweepLeavesWhatIsTouched(t *testing.T) {
	js := connect(t, newServer(t, 0))
	opts := store.Options{HistoryLimit: 0}
	touching := open(t, js, opts)
	for n := range int64(3) {
		apply(t, touching, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	// The clock of this one is late; and while it looks, a fact comes.
	late := &interrupted{JetStream: js, before: func() { apply(t, touching, storetest.Begin("s", "r3", 3)) }, beforePurge: func() {}}
	s, err := kv.Open(t.Context(), late, bucket("S"), store.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	require.NoError(t, err)
	removed, err := s.Sweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Equal(t, "r3", storetest.Show(t, touching, "s").Current.RunID)
	require.Len(t, archived(t, touching, "s"), 3)
	removed, err = s.Sweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	_, err = touching.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// A session that begins anew while the old one is being removed is another one.
func TestASweepLeavesWhatComesMeanwhile(t *testing.T) {
	js := connect(t, newServer(t, 0))
	now := time.Now()
	opts := store.Options{HistoryLimit: 0, Now: func() time.Time { return now }}
	touching := open(t, js, opts)
	begin := func(from, to int64) {
		for n := from; n < to; n++ {
			apply(t, touching, storetest.Begin("s", fmt.Sprint("r", n), n))
		}
	}
	begin(0, 4)
	now = now.Add(time.Hour)
	late := &interrupted{JetStream: js, before: func() {}, beforePurge: func() { begin(10, 14) }}
	s, err := kv.Open(t.Context(), late, bucket("S"), opts)
	require.NoError(t, err)
	removed, err := s.Sweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.Equal(t, "r13", storetest.Show(t, touching, "s").Current.RunID)
	kept := archived(t, touching, "s")
	require.Len(t, kept, 3)
	for _, run := range []string{"r10", "r11", "r12"} {
		require.Contains(t, kept, run)
	}
}

// interrupted is JetStream of a process that does something else before its
// first write and its first purge.
type interrupted struct {
	jetstream.JetStream
	before, beforePurge func()
	once, oncePurge     sync.Once
}

func (i *interrupted) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := i.JetStream.Stream(ctx, name)
	return &interruptedStream{s, i}, err
}

type interruptedStream struct {
	jetstream.Stream
	js *interrupted
}

func (s *interruptedStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	s.js.oncePurge.Do(s.js.beforePurge)
	return s.Stream.Purge(ctx, opts...)
}

func (i *interrupted) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	i.once.Do(i.before)
	return i.JetStream.PublishMsg(ctx, m, opts...)
}
