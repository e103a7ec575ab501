package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/store"
	"intenthint/store/storetest"
)

func TestLeavingTurnsAreRead(t *testing.T) {
	t.Parallel()
	js := connect(t, newServer(t, 0))
	s := open(t, js, store.Options{HistoryLimit: 1})
	for n := range int64(3) {
		apply(t, s, storetest.Begin("s", fmt.Sprint("r", n), n))
	}
	require.Equal(t, []string{"s"}, keys(t, js))
	require.Len(t, archived(t, s, "s"), 1)
	// A process that has not seen them writes their keys.
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

// A late process must not overwrite a newer turn with an older one. A turn whose
// retirement was interrupted is retired in its final state.
func TestOfTwoRetirementsTheNewerTurnWins(t *testing.T) {
	t.Parallel()
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
