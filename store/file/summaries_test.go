package file

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/store"
)

func TestAListReadsWhatHasChanged(t *testing.T) {
	s, err := Open(t.TempDir(), store.Options{HistoryLimit: 10})
	require.NoError(t, err)
	begin := func(session, run, input string) {
		t.Helper()
		f := store.Fact{ID: session + run, TS: 1763680000000, RunID: run, SessionID: session, Begin: &store.Begin{Input: input, Result: &payload.Classification{Intent: "CHAT"}}}
		require.NoError(t, s.Apply(t.Context(), []store.Fact{f}))
	}
	inputs := func() map[string]string {
		t.Helper()
		list, err := s.List(t.Context())
		require.NoError(t, err)
		require.NotNil(t, list)
		out := map[string]string{}
		for _, summary := range list {
			out[summary.Token] = fmt.Sprint(summary.Input, " ", summary.Turns)
		}
		return out
	}
	require.Empty(t, inputs())
	begin("a", "r1", "one")
	begin("b", "r1", "two")
	want := map[string]string{"a": "one 1", "b": "two 1"}
	require.Equal(t, want, inputs())

	// Nothing tells that this file has another content.
	path := s.path("a", sessionSuffix)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	other := bytes.Replace(data, []byte(`"one"`), []byte(`"six"`), 1)
	put := func(data []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, data, 0o600))
		require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
	put(other)
	require.Equal(t, want, inputs(), "it is not read again")
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime().Add(time.Microsecond)))
	require.Equal(t, "six 1", inputs()["a"], "another time")
	put(append(other, '\n'))
	require.Equal(t, "six 1", inputs()["a"])
	put(bytes.Replace(data, []byte(`"one"`), []byte(`"seven"`), 1))
	require.Equal(t, "seven 1", inputs()["a"], "another size")

	begin("b", "r2", "three")
	begin("c", "r1", "new")
	require.Equal(t, map[string]string{"a": "seven 1", "b": "three 2", "c": "new 1"}, inputs())
	for _, corrupt := range []string{"{", "null", "[]", `"x"`, "7", " "} {
		put([]byte(corrupt))
		require.NotContains(t, inputs(), "a", corrupt)
	}
	_, err = s.Remove(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"c": "new 1"}, inputs())
	require.Len(t, s.summaries.last(), 1, "what is gone is not kept")
}

func TestKeptSummariesAreBounded(t *testing.T) {
	var s summaries
	var all []*summarized
	for i := range 100 {
		all = append(all, &summarized{Summary: store.Summary{Token: fmt.Sprint("s", i), Input: strings.Repeat("x", summariesBytes/10)}})
	}
	s.keep(all)
	require.Len(t, s.last(), 9)
	require.Contains(t, s.last(), "s0")
}

func TestListsAtTheSameTime(t *testing.T) {
	s, err := Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	var busy sync.WaitGroup
	for reader := range 4 {
		busy.Go(func() {
			for i := range 20 {
				f := store.Fact{ID: fmt.Sprint(reader, i), TS: 1763680000000, RunID: "r", SessionID: fmt.Sprint("s", reader, i), Begin: &store.Begin{Input: "x"}}
				assert.NoError(t, s.Apply(t.Context(), []store.Fact{f}))
				_, err := s.List(t.Context())
				assert.NoError(t, err)
			}
		})
	}
	busy.Wait()
	list, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 80)
}
