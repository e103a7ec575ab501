package record_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
	"intenthint/store/file"
)

// beginning is when the turns of these tests begin; the files change later.
var beginning = time.Now().Add(-24 * time.Hour).UnixMilli()

// begin is the beginning of a turn, so many seconds after the first.
func begin(session, run string, seconds int, intent string, confidence float64) store.Fact {
	return store.Fact{
		ID: "b-" + session + run, TS: beginning + int64(seconds)*1000, RunID: run, SessionID: session, SessionKey: "agent:main:direct:" + session, AgentID: "main",
		Begin: &store.Begin{
			Input: "message of " + run, Conversation: []payload.Turn{{Role: payload.RoleUser, Text: "before"}},
			Result: &payload.Classification{Intent: intent, Name: intent, Confidence: confidence, Complexity: payload.ComplexityLow, Source: payload.SourceLocal},
		},
	}
}

func open(t testing.TB, limit int) *file.Store {
	t.Helper()
	s, err := file.Open(t.TempDir(), store.Options{HistoryLimit: limit})
	require.NoError(t, err)
	return s
}

func runs(page record.Page) []string {
	out := make([]string, len(page.Entries))
	for i, e := range page.Entries {
		out[i] = e.RunID
	}
	return out
}

// counting counts what is read of a store.
type counting struct {
	store.Reader
	gets, retired int
}

func (c *counting) Get(ctx context.Context, session string) (json.RawMessage, error) {
	c.gets++
	return c.Reader.Get(ctx, session)
}

func (c *counting) Retired(ctx context.Context, session string) ([]json.RawMessage, error) {
	c.retired++
	return c.Reader.Retired(ctx, session)
}

func TestPagesHoldAllTurnsOnceNewestFirst(t *testing.T) {
	const turns = 200
	r := rand.New(rand.NewPCG(1, 2))
	sessions := open(t, 3) // most turns have left their document
	var all []store.Fact
	for i := range turns {
		// Seconds repeat: the id then orders them.
		all = append(all, begin(fmt.Sprint("s", r.IntN(12)), fmt.Sprint("r", i), r.IntN(turns/2), "CHAT", 0.9))
	}
	bySession := map[string][]store.Fact{}
	for _, f := range all {
		bySession[f.SessionID] = append(bySession[f.SessionID], f)
	}
	for _, facts := range bySession {
		require.NoError(t, sessions.Apply(t.Context(), facts))
	}
	slices.SortFunc(all, func(a, b store.Fact) int { return b.Key().Compare(a.Key()) })
	for _, limit := range []int{1, 7, turns - 1, turns, turns + 1} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			q := record.Query{Limit: limit}
			var got []string
			for {
				page, err := record.Recent(t.Context(), sessions, q)
				require.NoError(t, err)
				require.Zero(t, page.Rest)
				got = append(got, runs(page)...)
				if !page.More {
					break
				}
				last := page.Entries[len(page.Entries)-1].Began()
				q.Before = &last
			}
			require.Len(t, got, turns)
			for i, f := range all {
				require.Equal(t, f.RunID, got[i], "turn %d", i)
			}
		})
	}
}

func TestOneSessionIsReadFromItsEnd(t *testing.T) {
	sessions := &counting{Reader: open(t, 9)}
	for i := range 40 {
		require.NoError(t, sessions.Reader.(store.Applier).Apply(t.Context(), []store.Fact{begin("s", fmt.Sprint("r", i), i, "CHAT", 0.9)}))
	}
	turns, more, err := record.Last(t.Context(), sessions, "s", nil, 5)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, "r39", turns[0].RunID)
	require.Len(t, turns, 5)
	require.Zero(t, sessions.retired, "the turns that left the document are older")

	turns, more, err = record.Last(t.Context(), sessions, "s", &turns[4].Begin, 40)
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, turns, 35)
	require.Equal(t, "r34", turns[0].RunID)
	require.Equal(t, "r0", turns[34].RunID)
	require.Equal(t, 1, sessions.retired)

	turns, more, err = record.Last(t.Context(), sessions, "unknown", nil, 5)
	require.NoError(t, err)
	require.False(t, more)
	require.Empty(t, turns)
}

func TestNoMoreSessionsAreReadThanNeeded(t *testing.T) {
	// Sessions change when their turns begin, an hour apart.
	sessions := &counting{Reader: aged{open(t, 9)}}
	for i := range 20 {
		require.NoError(t, sessions.Reader.(aged).Apply(t.Context(), []store.Fact{begin(fmt.Sprint("s", i), fmt.Sprint("r", i), i*3600, "CHAT", 0.9)}))
	}
	page, err := record.Recent(t.Context(), sessions, record.Query{Limit: 3})
	require.NoError(t, err)
	require.Equal(t, []string{"r19", "r18", "r17"}, runs(page))
	require.True(t, page.More)
	require.Equal(t, 4, sessions.gets, "one more shows that there are more")

	sessions.gets = 0
	since := time.UnixMilli(beginning + 17*3_600_000)
	page, err = record.Recent(t.Context(), sessions, record.Query{Limit: 9, Filter: record.Filter{Since: since}})
	require.NoError(t, err)
	require.Equal(t, []string{"r19", "r18", "r17"}, runs(page))
	require.False(t, page.More)
	require.Equal(t, 3, sessions.gets)
}

// aged lists sessions as if they had changed when their current turn began.
type aged struct{ *file.Store }

func (a aged) List(ctx context.Context) ([]store.Summary, error) {
	list, err := a.Store.List(ctx)
	for i, s := range list {
		raw, err := a.Get(ctx, s.Name())
		if err != nil {
			return nil, err
		}
		var document struct{ Current store.Turn }
		if err := json.Unmarshal(raw, &document); err != nil {
			return nil, err
		}
		list[i].Updated = time.UnixMilli(document.Current.Begin.TS)
	}
	slices.SortFunc(list, store.Summary.Compare)
	return list, err
}

func TestReadingIsBoundedAndGoesOn(t *testing.T) {
	sessions := aged{open(t, -1)}
	const each = 501
	for i := range 12 {
		var facts []store.Fact
		for j := range each {
			facts = append(facts, begin(fmt.Sprint("s", i), fmt.Sprint("r", i, "-", j), i*600+j, "CHAT", 0.9))
		}
		if i == 0 {
			facts[7].Begin.Result.Intent = "RARE"
		}
		require.NoError(t, sessions.Apply(t.Context(), facts))
	}
	q := record.Query{Limit: 5, Filter: record.Filter{Intent: "RARE"}}
	page, err := record.Recent(t.Context(), sessions, q)
	require.NoError(t, err)
	require.Empty(t, page.Entries)
	require.Equal(t, 10, page.Sessions)
	require.Equal(t, 10*each, page.Turns)
	require.NotZero(t, page.Rest)

	q.Changed = page.Rest
	page, err = record.Recent(t.Context(), sessions, q)
	require.NoError(t, err)
	require.Equal(t, []string{"r0-7"}, runs(page))
	require.Equal(t, 2, page.Sessions)
	require.Zero(t, page.Rest)
}

func TestQueriesSelect(t *testing.T) {
	sessions := open(t, 9)
	facts := []store.Fact{
		begin("one", "a", 1, "CHAT", 0.9), begin("one", "b", 2, "NOTE", 0.4), begin("two", "c", 3, "NOTE", 0.8), begin("two", "d", 4, "CHAT", 0.7),
		{ID: "f", TS: beginning + 9000, RunID: "a", SessionID: "one", Feedback: &store.Feedback{Verdict: payload.VerdictWrong, Intent: "NOTE"}},
	}
	facts[3].Begin.Result.Source = payload.SourceLLM
	for _, f := range facts {
		require.NoError(t, sessions.Apply(t.Context(), []store.Fact{f}))
	}
	half := 0.75
	for _, row := range []struct {
		name  string
		query record.Query
		want  []string
	}{
		{"all", record.Query{}, []string{"d", "c", "b", "a"}},
		{"intent, also as corrected", record.Query{Filter: record.Filter{Intent: "note"}}, []string{"c", "b", "a"}},
		{"below", record.Query{Filter: record.Filter{Below: &half}}, []string{"d", "b"}},
		{"source", record.Query{Filter: record.Filter{Source: payload.SourceLLM}}, []string{"d"}},
		{"session id", record.Query{Filter: record.Filter{Session: "one"}}, []string{"b", "a"}},
		{"session key", record.Query{Filter: record.Filter{Session: "agent:main:direct:two"}}, []string{"d", "c"}},
		{"feedback", record.Query{Filter: record.Filter{Feedback: payload.VerdictWrong}}, []string{"a"}},
		{"no feedback", record.Query{Filter: record.Filter{Feedback: record.FeedbackNone}}, []string{"d", "c", "b"}},
		{"amended", record.Query{Filter: record.Filter{Feedback: payload.VerdictRight}, Amend: func(s store.Summary, turn *store.Turn) {
			if s.Token == "two" && turn.RunID == "c" {
				turn.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: payload.VerdictRight}}
			}
		}}, []string{"c"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.query.Limit = 9
			page, err := record.Recent(t.Context(), sessions, row.query)
			require.NoError(t, err)
			require.Equal(t, row.want, runs(page))
			require.Nil(t, page.Entries[0].History)
		})
	}
}

func TestFindTakesTheSessionThatChangedLast(t *testing.T) {
	sessions := open(t, 9)
	for i, id := range []string{"old", "new"} {
		f := begin(id, "r", i, "CHAT", 0.9)
		f.SessionKey = "agent:main:main"
		require.NoError(t, sessions.Apply(t.Context(), []store.Fact{f}))
	}
	for given, want := range map[string]string{"old": "old", "agent:main:main": "new", "unknown": "unknown"} {
		got, err := record.Find(t.Context(), sessions, given)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestSinceIsBounded(t *testing.T) {
	sessions := aged{open(t, -1)}
	for i := range 6 {
		require.NoError(t, sessions.Apply(t.Context(), []store.Fact{
			begin(fmt.Sprint("s", i), "a", i*3600, "CHAT", 0.9), begin(fmt.Sprint("s", i), "b", i*3600+60, "CHAT", 0.9),
		}))
	}
	for _, row := range []struct {
		name    string
		hours   int
		limit   int
		want    []string
		partial bool
	}{
		{"all", 0, 12, []string{"s5", "s5", "s4", "s4", "s3", "s3", "s2", "s2", "s1", "s1", "s0", "s0"}, false},
		{"since", 4, 12, []string{"s5", "s5", "s4", "s4"}, false},
		{"a limit within a session", 0, 3, []string{"s5", "s5", "s4", "s4"}, true},
		{"a limit that is reached at the end", 4, 4, []string{"s5", "s5", "s4", "s4"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			partial, err := record.Since(t.Context(), sessions, time.UnixMilli(beginning+int64(row.hours)*3_600_000), row.limit, func(s store.Summary, _ *store.Turn) { got = append(got, s.Token) })
			require.NoError(t, err)
			require.Equal(t, row.want, got)
			require.Equal(t, row.partial, partial)
		})
	}
}
