// Package storetest is the conformance suite of package store's backends.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

// Open returns one or more handles on a new, empty storage with the given
// history limit. Each handle stands for a process.
type Open func(t *testing.T, historyLimit int) []store.Store

// Document is a decoded session document (contract §8).
type Document struct {
	SessionID  string       `json:"sessionId"`
	SessionKey string       `json:"sessionKey"`
	AgentID    string       `json:"agentId"`
	Current    *store.Turn  `json:"current"`
	History    []store.Turn `json:"history"`
	Ended      *struct {
		Reason string `json:"reason"`
		At     string `json:"at"`
	} `json:"ended"`
}

const start = int64(1_763_680_000_000)

// Begin returns the begin of a turn.
func Begin(session, run string, n int64) store.Fact {
	return store.Fact{
		ID: "begin-" + run, TS: start + n, RunID: run, SessionID: session, SessionKey: "agent:main:" + session, AgentID: "main",
		Begin: &store.Begin{
			Input:        "input of " + run,
			Conversation: []payload.Turn{{Role: "user", Text: "earlier"}},
			Result:       &payload.Classification{Intent: "NOTE", Name: "Note", Confidence: 0.75, Complexity: "low", Source: payload.SourceLocal},
		},
	}
}

// Call returns a finished tool call of a run.
func Call(session, run string, n int64) store.Fact {
	id := fmt.Sprintf("call-%s-%d", run, n)
	return store.Fact{
		ID: id, TS: start + n, RunID: run, SessionID: session,
		Call: &store.Call{ToolCallID: id, Name: "read", Params: json.RawMessage(`{"path":"a"}`), Result: "text", DurationMs: 5},
	}
}

// Feedback returns a person's verdict on the hint of a run.
func Feedback(session, run, verdict string, n int64) store.Fact {
	return store.Fact{
		ID: fmt.Sprintf("feedback-%s-%d", run, n), TS: start + n, RunID: run, SessionID: session,
		Feedback: &store.Feedback{Verdict: verdict, Intent: "MEMORY", By: "ada"},
	}
}

// End returns the end of an attempt of a run.
func End(session, run string, n int64) store.Fact {
	return store.Fact{
		ID: fmt.Sprintf("end-%s-%d", run, n), TS: start + n, RunID: run, SessionID: session,
		End: &store.End{Result: "result of " + run},
	}
}

// Show returns the document of a session.
func Show(t *testing.T, s store.Reader, session string) Document {
	t.Helper()
	raw, err := s.Get(t.Context(), session)
	require.NoError(t, err)
	var doc Document
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.NotNil(t, doc.History, "history is always an array")
	return doc
}

func apply(t *testing.T, s store.Applier, facts ...store.Fact) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), facts))
}

// Spoil damages a part of a stored session. The session has a document, retired
// turns and waiting facts.
type Spoil func(t *testing.T, s store.Store, token string)

// Run runs the suite.
func Run(t *testing.T, open Open, spoils map[string]Spoil) {
	for name, test := range map[string]func(*testing.T, Open){
		"a turn from beginning to end":            turnFromBeginningToEnd,
		"facts without a turn are not a session":  factsWithoutTurn,
		"order and repetition do not matter":      orderAndRepetition,
		"retired turns are not resurrected":       retired,
		"concurrent writers lose nothing":         concurrentWriters,
		"readers never see a broken document":     concurrentReaders,
		"a session is found by id, key and token": names,
		"a list shows the latest change first":    list,
		"strange names are sessions like others":  strangeNames,
		"facts must be of one session":            oneSession,
		"an ended context stops Apply":            endedContext,
		"the next turn hides the session end":     sessionEnd,
		"the last source set is returned":         source,
		"feedback finds its turn anywhere":        feedback,
		"losses stay until they are rebuilt":      losses,
		"a removed session is forgotten":          removal,
		"a session is removed while it is read":   removedWhileRead,
		"the limit of turns is exact":             historyLimit,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
	for name, spoil := range spoils {
		t.Run("damage is rebuilt: "+name, func(t *testing.T) {
			for seed := range uint64(2) {
				spoilt(t, open, spoil, rand.New(rand.NewPCG(seed, 5)))
			}
		})
	}
}

func turnFromBeginningToEnd(t *testing.T, open Open) {
	s := open(t, 200)[0]
	apply(t, s, Begin("s", "r1", 0))
	doc := Show(t, s, "s")
	require.Equal(t, "s", doc.SessionID)
	require.Equal(t, "agent:main:s", doc.SessionKey)
	require.Equal(t, "main", doc.AgentID)
	require.Equal(t, "r1", doc.Current.RunID)
	require.Equal(t, "2025-11-20T23:06:40.000Z", doc.Current.Timestamps.Start)
	require.Empty(t, doc.Current.Timestamps.End)
	require.Equal(t, "NOTE", doc.Current.Intent.Result.Intent)

	apply(t, s, Call("s", "r1", 10), End("s", "r1", 1500))
	doc = Show(t, s, "s")
	require.Len(t, doc.Current.ToolCalls, 1)
	require.Equal(t, "result of r1", doc.Current.Result)
	require.Equal(t, "2025-11-20T23:06:41.500Z", doc.Current.Timestamps.End)
	require.Empty(t, doc.History)

	apply(t, s, Begin("s", "r2", 2000))
	doc = Show(t, s, "s")
	require.Equal(t, "r2", doc.Current.RunID)
	require.Len(t, doc.History, 1)
	require.Len(t, doc.History[0].ToolCalls, 1)
}

func factsWithoutTurn(t *testing.T, open Open) {
	handles := open(t, 200)
	first, last := handles[0], handles[len(handles)-1]
	loose := Call("s", "", 7)
	apply(t, first, Call("s", "r1", 5), loose, End("s", "cron", 6))
	apply(t, first, store.Fact{ID: "close", TS: start + 9, SessionID: "s", Close: &store.Close{Reason: "new"}})
	_, err := first.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
	summaries, err := first.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, summaries)

	apply(t, last, Begin("s", "r1", 0))
	doc := Show(t, first, "s")
	require.Len(t, doc.Current.ToolCalls, 2)
	require.Empty(t, doc.Current.Result, "the cron run is not tracked")
	require.Equal(t, "new", doc.Ended.Reason)
	raw, err := first.Get(t.Context(), "s")
	require.NoError(t, err)
	require.NotContains(t, string(raw), "cron")
}

func orderAndRepetition(t *testing.T, open Open) {
	var facts []store.Fact
	for i := range int64(12) {
		run := fmt.Sprintf("r%d", i)
		facts = append(facts, Begin("s", run, i*100), Call("s", run, i*100+1), Call("s", run, i*100+2), Call("s", "", i*100+3), End("s", run, i*100+50))
	}
	var want []byte
	for seed := range uint64(4) {
		handles := open(t, 200)
		r := rand.New(rand.NewPCG(seed, 0))
		for range 2 {
			for _, i := range r.Perm(len(facts)) {
				apply(t, handles[r.IntN(len(handles))], facts[i])
			}
		}
		got, err := handles[0].Get(t.Context(), "s")
		require.NoError(t, err)
		if want == nil {
			want = got
			doc := Show(t, handles[0], "s")
			require.Len(t, doc.History, 11)
			for _, turn := range append(doc.History, *doc.Current) {
				require.Len(t, turn.ToolCalls, 3)
			}
		}
		require.Equal(t, string(want), string(got))
	}
}

func retired(t *testing.T, open Open) {
	handles := open(t, 2)
	for i := range int64(6) {
		apply(t, handles[int(i)%len(handles)], Begin("s", fmt.Sprintf("r%d", i), i*100))
	}
	want, err := handles[0].Get(t.Context(), "s")
	require.NoError(t, err)
	doc := Show(t, handles[0], "s")
	require.Len(t, doc.History, 2)
	require.Equal(t, "r3", doc.History[0].RunID)
	for _, s := range handles {
		apply(t, s, Begin("s", "r0", 0))
		apply(t, s, Call("s", "r1", 103), End("s", "r2", 204), Call("s", "", 150))
		got, err := s.Get(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}

func concurrentWriters(t *testing.T, open Open) {
	const sessions, runs, calls = 3, 4, 8
	handles := open(t, 200)
	var wg sync.WaitGroup
	errs := make(chan error, 2*sessions*runs*(calls+1))
	for s := range sessions {
		for run := range runs {
			session, run := fmt.Sprintf("s%d", s), fmt.Sprintf("r%d", run)
			// Every event is delivered twice, to two handles.
			for twice := range 2 {
				handle := handles[(s+twice)%len(handles)]
				wg.Go(func() {
					for i := range int64(calls) {
						errs <- handle.Apply(t.Context(), []store.Fact{Call(session, run, 10+i)})
					}
					errs <- handle.Apply(t.Context(), []store.Fact{Begin(session, run, 0), End(session, run, 100)})
				})
			}
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	for s := range sessions {
		doc := Show(t, handles[0], fmt.Sprintf("s%d", s))
		require.Len(t, doc.History, runs-1)
		for _, turn := range append(doc.History, *doc.Current) {
			require.Len(t, turn.ToolCalls, calls, "%s of session %d", turn.RunID, s)
			require.Equal(t, "result of "+turn.RunID, turn.Result)
		}
	}
}

func concurrentReaders(t *testing.T, open Open) {
	handles := open(t, 5)
	apply(t, handles[0], Begin("s", "r", 0))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		for i := range int64(150) {
			if handles[0].Apply(t.Context(), []store.Fact{Begin("s", fmt.Sprint("r", i), i+1)}) != nil {
				t.Error("a write failed")
			}
		}
	})
	reader := handles[len(handles)-1]
	for ctx.Err() == nil {
		Show(t, reader, "s")
		_, err := reader.List(t.Context())
		require.NoError(t, err)
	}
	wg.Wait()
}

func names(t *testing.T, open Open) {
	s := open(t, 200)[0]
	apply(t, s, Begin("id/1", "r1", 0))
	byKey := Begin("", "r2", 0)
	byKey.SessionKey = "agent:main:telegram:direct:1"
	apply(t, s, byKey)
	for _, name := range []string{"id/1", subjects.Name("id/1")} {
		require.Equal(t, "r1", Show(t, s, name).Current.RunID)
	}
	for _, name := range []string{byKey.SessionKey, subjects.Name(byKey.SessionKey)} {
		doc := Show(t, s, name)
		require.Equal(t, "r2", doc.Current.RunID)
		require.Empty(t, doc.SessionID)
	}
	for _, name := range []string{"", "_", "id/2", "..", "../id", "id/1.json", strings.Repeat("x", 5000)} {
		_, err := s.Get(t.Context(), name)
		require.ErrorIs(t, err, store.ErrNotFound, "%q", name)
	}
}

func list(t *testing.T, open Open) {
	s := open(t, 200)[0]
	counted := func(want int) {
		t.Helper()
		n, err := s.Count(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	counted(0)
	for i, session := range []string{"a", "b", "c"} {
		apply(t, s, Begin(session, "r-"+session, int64(i)))
	}
	apply(t, s, Begin("a", "r-again", 100), store.Fact{ID: "close", TS: start + 200, SessionID: "a", Close: &store.Close{Reason: "reset"}})
	counted(3)
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, summaries, 3)
	require.WithinDuration(t, time.Now(), summaries[0].Updated, time.Minute)
	summaries[0].Updated = time.Time{}
	require.Equal(t, store.Summary{
		Token: "a", SessionID: "a", SessionKey: "agent:main:a", AgentID: "main", RunID: "r-again",
		Input: "input of r-again", Intent: "NOTE", Turns: 2, Ended: "reset",
	}, summaries[0])
	require.Equal(t, "c", summaries[1].SessionID)
	require.Equal(t, "b", summaries[2].SessionID)
}

func source(t *testing.T, open Open) {
	handles := open(t, 200)
	first, last := handles[0], handles[len(handles)-1]
	none, err := first.Source(t.Context())
	require.NoError(t, err)
	require.Zero(t, none)
	require.ErrorIs(t, first.SetSource(t.Context(), store.Source{Stream: "EVENTS"}), store.ErrNoSource)
	none, err = first.Source(t.Context())
	require.NoError(t, err)
	require.Zero(t, none)
	for i := range int64(3) {
		set := store.Source{Stream: fmt.Sprint("EVENTS-", i), Created: time.UnixMilli(start + i).UTC(), Fold: 2}
		rebuild, ok, err := first.Rebuilding(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
		require.NoError(t, rebuild.Finish(t.Context(), set))
		rebuild.Release()
		got, err := last.Source(t.Context())
		require.NoError(t, err)
		require.Equal(t, set, got)
		set.Through = uint64(i + 7)
		require.NoError(t, last.SetSource(t.Context(), set))
		got, err = first.Source(t.Context())
		require.NoError(t, err)
		require.Equal(t, set, got)
	}
	summaries, err := handles[0].List(t.Context())
	require.NoError(t, err)
	require.Empty(t, summaries, "it is not listed as a session")
}

// StrangeNames returns session ids that are unsafe as file names or subjects.
func StrangeNames() []string {
	return []string{
		"../../x", "..", ".", "/etc/passwd", "a\x00b", "\x00", "_", "=5F", "con", "a.json", ".locks", " ", "\xff\xfe", "ü",
		"x.history.jsonl", "*", ">", strings.Repeat("k", 10_000), strings.Repeat("k", 9_999), strings.Repeat("/", 200),
	}
}

func strangeNames(t *testing.T, open Open) {
	s := open(t, 0)[0]
	for i, name := range StrangeNames() {
		first := Begin(name, fmt.Sprint("r", i), 0)
		apply(t, s, first)
		apply(t, s, Begin(name, fmt.Sprint("q", i), 5))
	}
	for i, name := range StrangeNames() {
		doc := Show(t, s, name)
		require.Equal(t, fmt.Sprint("q", i), doc.Current.RunID, "%q", name)
		require.Equal(t, strings.ToValidUTF8(name, "\uFFFD"), doc.SessionID)
	}
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, summaries, len(StrangeNames()))
}

func oneSession(t *testing.T, open Open) {
	s := open(t, 200)[0]
	require.NoError(t, s.Apply(t.Context(), nil))
	require.ErrorIs(t, s.Apply(t.Context(), []store.Fact{Begin("a", "r", 0), Begin("b", "r", 0)}), store.ErrMixedSessions)
	nameless := Begin("a", "r", 0)
	nameless.SessionID, nameless.SessionKey = "", ""
	require.ErrorIs(t, s.Apply(t.Context(), []store.Fact{nameless}), store.ErrNoSession)
	summaries, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, summaries)
}

func endedContext(t *testing.T, open Open) {
	s := open(t, 200)[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Apply(ctx, []store.Fact{Begin("s", "r", 0)}), context.Canceled)
	_, err := s.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func sessionEnd(t *testing.T, open Open) {
	s := open(t, 200)[0]
	apply(t, s, Begin("s", "r1", 0), store.Fact{ID: "close", TS: start + 10, SessionID: "s", Close: &store.Close{Reason: "new"}})
	doc := Show(t, s, "s")
	require.Equal(t, "new", doc.Ended.Reason)
	require.Equal(t, "2025-11-20T23:06:40.010Z", doc.Ended.At)
	apply(t, s, Begin("s", "r2", 20))
	require.Nil(t, Show(t, s, "s").Ended)
	apply(t, s, store.Fact{ID: "older", TS: start + 19, SessionID: "s", Close: &store.Close{Reason: "late"}})
	require.Nil(t, Show(t, s, "s").Ended)
	apply(t, s, store.Fact{ID: "same", TS: start + 20, SessionID: "s", Close: &store.Close{Reason: "idle"}})
	require.Equal(t, "idle", Show(t, s, "s").Ended.Reason)
}

// Feedback reaches a turn in the document, a retired turn, and a turn that
// begins after it. The latest counts.
func feedback(t *testing.T, open Open) {
	handles := open(t, 1)
	first, last := handles[0], handles[len(handles)-1]
	apply(t, first, Feedback("s", "r2", payload.VerdictRight, 150))
	_, err := last.Get(t.Context(), "s")
	require.ErrorIs(t, err, store.ErrNotFound, "feedback alone is no session")
	for i := range int64(4) {
		apply(t, first, Begin("s", fmt.Sprint("r", i), i*100))
	}
	retired, current := Feedback("s", "r0", payload.VerdictWrong, 500), Feedback("s", "r3", payload.VerdictWrong, 600)
	early := Feedback("s", "r3", payload.VerdictRight, 599)
	unknown, loose := Feedback("s", "r9", payload.VerdictRight, 5), Feedback("s", "", payload.VerdictRight, 1000)
	for range 2 {
		for _, s := range handles {
			apply(t, s, current, early, unknown, retired, loose)
		}
	}

	doc := Show(t, last, "s")
	require.Equal(t, &store.Judgement{
		Feedback: store.Feedback{Verdict: payload.VerdictWrong, Intent: "MEMORY", By: "ada"},
		At:       "2025-11-20T23:06:40.600Z", Key: current.Key(),
	}, doc.Current.Feedback)
	require.Equal(t, payload.VerdictRight, doc.History[0].Feedback.Verdict)
	said := map[string]*store.Judgement{}
	lines, err := last.Retired(t.Context(), "s")
	require.NoError(t, err)
	for _, raw := range lines {
		turn, err := store.DecodeTurn(raw)
		require.NoError(t, err)
		said[turn.RunID] = turn.Feedback
	}
	require.Equal(t, retired.Key(), said["r0"].Key, "the amended turn is the one that counts")
	require.Nil(t, said["r1"])

	apply(t, last, Begin("s", "r9", 400))
	doc = Show(t, first, "s")
	require.Equal(t, "r9", doc.Current.RunID)
	require.Equal(t, unknown.Key(), doc.Current.Feedback.Key, "it waited for its turn")
}
