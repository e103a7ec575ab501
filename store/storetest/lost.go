package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/store"
)

func losses(t *testing.T, open Open) {
	handles := open(t, 200)
	first, last := handles[0], handles[len(handles)-1]
	tokens := func() []string {
		all, err := last.Lost(t.Context())
		require.NoError(t, err)
		out := []string{}
		for _, l := range all {
			out = append(out, l.Token)
		}
		slices.Sort(out)
		return out
	}
	require.Empty(t, tokens())
	for _, token := range []string{"a", "_", "two=2Fthree"} {
		require.NoError(t, first.MarkLost(t.Context(), token))
	}
	require.Equal(t, []string{"_", "a", "two=2Fthree"}, tokens())
	before, err := last.Lost(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.MarkLost(t.Context(), "a"))
	for _, loss := range before {
		require.NoError(t, last.Recovered(t.Context(), loss))
		require.NoError(t, first.Recovered(t.Context(), loss), "another process did so too")
	}
	require.Equal(t, []string{"a"}, tokens(), "it was lost again meanwhile")
	summaries, err := handles[0].List(t.Context())
	require.NoError(t, err)
	require.Empty(t, summaries, "it is not listed as a session")
}

func removal(t *testing.T, open Open) {
	handles := open(t, 1)
	first, last := handles[0], handles[len(handles)-1]
	for _, session := range []string{"s", "s2", "s/2"} {
		for _, s := range handles {
			for i := range int64(4) {
				run := fmt.Sprintf("r%d", i)
				apply(t, s, Begin(session, run, i*100), Call(session, "cron", 5), End(session, run, i*100+50))
			}
		}
	}
	require.NoError(t, first.MarkLost(t.Context(), "s"))
	require.NoError(t, first.MarkLost(t.Context(), "s2"))

	for range 2 {
		for _, unknown := range []string{"nobody", "_", "..", "", "s.history", "*", "s/2"} {
			removed, err := last.Remove(t.Context(), unknown)
			require.NoError(t, err, "%q", unknown)
			require.Empty(t, removed, "%q", unknown)
		}
	}
	removed, err := last.Remove(t.Context(), "s")
	require.NoError(t, err)
	require.Greater(t, len(removed), 1, "the document and what stands beside it: %q", removed)
	for _, s := range handles {
		// Servers of a cluster may answer a reader before they have heard of it.
		require.Eventually(t, func() bool {
			_, err := s.Get(t.Context(), "s")
			retired, failure := s.Retired(t.Context(), "s")
			return errors.Is(err, store.ErrNotFound) && failure == nil && len(retired) == 0
		}, time.Minute, 10*time.Millisecond)
		var retired []json.RawMessage
		require.Equal(t, "r3", Show(t, s, "s2").Current.RunID, "the others stay")
		require.Equal(t, "r3", Show(t, s, "s/2").Current.RunID)
		retired, err = s.Retired(t.Context(), "s2")
		require.NoError(t, err)
		require.NotEmpty(t, retired)
	}
	losses, err := first.Lost(t.Context())
	require.NoError(t, err)
	require.Len(t, losses, 1)
	require.Equal(t, "s2", losses[0].Token)
	removed, err = first.Remove(t.Context(), "s")
	require.NoError(t, err)
	require.Empty(t, removed)

	// A late request without an answer does not begin a removed run again, wherever
	// its turn stood; it begins one that had not begun.
	for i, s := range handles {
		for n, run := range []string{"r0", "r3", "cron", "late"} {
			late := Begin("s", run, int64(n))
			late.ID, late.Begin.Unanswered = fmt.Sprint("unanswered-", run), true
			if i > 0 && n > 1 {
				continue
			}
			apply(t, s, End("s", run, 60), late)
		}
	}
	kept := Show(t, first, "s")
	require.Equal(t, "late", kept.Current.RunID)
	for _, turn := range kept.History {
		require.Equal(t, "cron", turn.RunID)
	}
	_, err = first.Remove(t.Context(), "s")
	require.NoError(t, err)
	// A request that is answered does.
	apply(t, last, Begin("s", "r3", 900))
	require.Equal(t, "r3", Show(t, last, "s").Current.RunID)
	again := Begin("s", "r3", 0)
	again.ID, again.Begin.Unanswered, again.Begin.Input = "unanswered", true, "removed"
	apply(t, last, again)
	require.Equal(t, "input of r3", Show(t, last, "s").Current.Input)
	_, err = first.Remove(t.Context(), "s")
	require.NoError(t, err)

	// A process that had the session in memory begins it anew.
	for i, s := range handles {
		run := fmt.Sprintf("new%d", i)
		apply(t, s, Begin("s", run, int64(1000+i)), End("s", run, int64(1000+i)))
	}
	doc := Show(t, first, "s")
	require.Len(t, doc.History, min(len(handles)-1, 1))
	for _, turn := range append(doc.History, *doc.Current) {
		require.True(t, strings.HasPrefix(turn.RunID, "new"), turn.RunID)
		require.Empty(t, turn.ToolCalls)
	}
}

// everything returns the document of session s and its retired turns, without
// those that are back in the document.
func everything(t *testing.T, s store.Store) (document string, retired map[string]string) {
	t.Helper()
	raw, err := s.Get(t.Context(), "s")
	require.NoError(t, err)
	turns, err := s.Retired(t.Context(), "s")
	require.NoError(t, err)
	retired = map[string]string{}
	for _, turn := range turns {
		decoded, err := store.DecodeTurn(turn)
		require.NoError(t, err)
		retired[decoded.RunID] = string(turn)
	}
	doc := Show(t, s, "s")
	for _, turn := range append(doc.History, *doc.Current) {
		delete(retired, turn.RunID)
	}
	return string(raw), retired
}

func spoilt(t *testing.T, open Open, spoil Spoil, r *rand.Rand) {
	t.Helper()
	limit := r.IntN(3)
	facts := Facts(r, "s", 60, 8, 60)
	for i := range int64(6) {
		facts = append(facts, Begin("s", fmt.Sprint("sure", i), i*10), Call("s", fmt.Sprint("never", i), i))
	}
	r.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
	// One fact looks its run up, one looks for the turn before a time.
	facts = append(facts, Call("s", "noticed", 1), Call("s", "", -1))
	begins := []store.Fact{Begin("s", "never1", 3), Begin("s", "noticed", 5)}
	calm := open(t, limit)[0]
	apply(t, calm, slices.Concat(facts, begins)...)

	handles := open(t, limit)
	last := handles[len(handles)-1]
	some := func() store.Store { return handles[r.IntN(len(handles))] }
	for _, f := range facts[:len(facts)-2] {
		apply(t, some(), f)
	}
	for _, s := range handles {
		// All have the session in memory, and no turn is leaving.
		apply(t, s, facts[:len(facts)-2]...)
	}
	spoil(t, handles[0], "s")
	noticing := some()
	apply(t, noticing, facts[len(facts)-2:]...)
	losses, err := last.Lost(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, losses)
	_, err = noticing.Retired(t.Context(), "s")
	require.NoError(t, err, "a reader returns the readable turns")

	for rest := facts; len(rest) > 0; {
		n := 1 + r.IntN(len(rest))
		apply(t, handles[len(handles)-1], rest[:n]...)
		rest = rest[n:]
		apply(t, some(), facts[r.IntN(len(facts))]) // redelivered meanwhile
	}
	for _, loss := range losses {
		require.Equal(t, "s", loss.Token)
		require.NoError(t, last.Recovered(t.Context(), loss))
	}
	for _, f := range begins {
		apply(t, some(), f)
	}
	wantDocument, wantRetired := everything(t, calm)
	document, retired := everything(t, handles[0])
	require.Equal(t, wantDocument, document)
	require.Equal(t, wantRetired, retired)
	losses, err = last.Lost(t.Context())
	require.NoError(t, err)
	require.Empty(t, losses, "each loss is recorded once")
}
