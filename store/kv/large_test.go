package kv_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

// long returns the facts of a turn with a long text that does not compress
// well.
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

func TestLargeSessionIsSplitIntoChunks(t *testing.T) {
	t.Parallel()
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
	require.InDelta(t, len(before), len(after), 2, "the chunks of the old value are purged")
	doc := storetest.Show(t, s, "s")
	require.Equal(t, "result of r99", doc.Current.Result)
	require.Len(t, doc.History, 99)
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, summaries, 1)
	require.Equal(t, 100, summaries[0].Turns)

	t.Run("a large retired turn", func(t *testing.T) {
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
			// As in a rebuild by several processes: roughly in order.
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
