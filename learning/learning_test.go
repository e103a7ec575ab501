package learning_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/improve/expand"
	"intenthint/internal/natstest"
	"intenthint/learning"
	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
	"intenthint/subjects"
)

var config = jetstream.KeyValueConfig{Bucket: "T_LEARNT"}

func open(t *testing.T) *learning.Store {
	t.Helper()
	return learning.New(natstest.JetStream(t, natstest.Start(t, nil)), config)
}

func lesson(run, intent, source string, at int64) record.Lesson {
	return record.Lesson{RunID: run, Session: "s", Text: "text of " + run, Intent: intent, Source: source, At: at, ID: "e"}
}

// intentsOf are the examples that a store has, by run.
func intentsOf(t *testing.T, s *learning.Store) map[string]string {
	t.Helper()
	all, err := s.All(t.Context())
	require.NoError(t, err)
	out := map[string]string{}
	for _, l := range all {
		out[l.RunID] = l.Intent
	}
	return out
}

func TestARunHasTheExampleThatCountsMost(t *testing.T) {
	s := open(t)
	for _, step := range []struct {
		name    string
		lesson  record.Lesson
		written bool
		want    string
	}{
		{"a model", lesson("r/1. *", "A", "llm", 10), true, "A"},
		{"the same event again", lesson("r/1. *", "A", "llm", 10), false, "A"},
		{"a person", lesson("r/1. *", "B", "feedback", 5), true, "B"},
		{"a model, later", lesson("r/1. *", "A", "llm", 90), false, "B"},
		{"a person, before", lesson("r/1. *", "C", "feedback", 4), false, "B"},
		{"a person, later", lesson("r/1. *", "C", "feedback", 6), true, "C"},
	} {
		written, err := s.Put(t.Context(), step.lesson)
		require.NoError(t, err, step.name)
		require.Equal(t, step.written, written, step.name)
		require.Equal(t, map[string]string{"r/1. *": step.want}, intentsOf(t, s), step.name)
	}
}

func TestWhatWasRemovedStaysAwayUntilSomebodySaysMore(t *testing.T) {
	s := open(t)
	now := time.UnixMilli(100)
	removed, err := s.Remove(t.Context(), "r", now)
	require.NoError(t, err)
	require.False(t, removed, "unknown")
	require.NoError(t, s.Retract(t.Context(), "r", 1, "f"), "unknown")
	put := func(l record.Lesson) bool {
		written, err := s.Put(t.Context(), l)
		require.NoError(t, err)
		return written
	}
	require.True(t, put(lesson("r", "A", "feedback", 50)))
	removed, err = s.Remove(t.Context(), "r", now)
	require.NoError(t, err)
	require.True(t, removed)
	removed, err = s.Remove(t.Context(), "r", now)
	require.NoError(t, err)
	require.False(t, removed, "removed before")
	require.False(t, put(lesson("r", "A", "feedback", 50)), "the event again")
	require.False(t, put(lesson("r", "A", "llm", 500)))
	require.Empty(t, intentsOf(t, s))
	require.True(t, put(lesson("r", "B", "feedback", 101)))
	require.Equal(t, map[string]string{"r": "B"}, intentsOf(t, s))

	require.NoError(t, s.Retract(t.Context(), "r", 90, "f"), "older than what was said")
	require.Equal(t, map[string]string{"r": "B"}, intentsOf(t, s))
	require.NoError(t, s.Retract(t.Context(), "r", 102, "f"))
	require.Empty(t, intentsOf(t, s))
}

func TestManyAtOnceWriteAnExampleOnce(t *testing.T) {
	ns := natstest.Start(t, nil)
	var writing sync.WaitGroup
	var mu sync.Mutex
	written := 0
	for range 8 {
		s := learning.New(natstest.JetStream(t, ns), config)
		writing.Go(func() {
			ok, err := s.Put(t.Context(), lesson("r", "A", "llm", 1))
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				written++
			}
		})
	}
	writing.Wait()
	require.Equal(t, 1, written)
}

// followed follows a store and returns what it has, by run, with its examples.
func followed(t *testing.T, s *learning.Store) (latest func() []learning.Example) {
	t.Helper()
	var mu sync.Mutex
	var now []learning.Example
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Follow(ctx, func(examples []learning.Example) {
			mu.Lock()
			defer mu.Unlock()
			now = examples
		}, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return func() []learning.Example {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
}

func TestFollowAndDelete(t *testing.T) {
	s := open(t)
	latest := followed(t, s)
	for i := range 5 {
		_, err := s.Put(t.Context(), lesson(fmt.Sprint("r", i), "A", "llm", int64(i)))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return len(learning.Lessons(latest())) == 5 }, time.Minute, 5*time.Millisecond)
	before := latest()
	_, err := s.Put(t.Context(), lesson("r0", "B", "feedback", 1))
	require.NoError(t, err)

	n, err := s.Delete(t.Context(), before)
	require.NoError(t, err)
	require.Less(t, n, len(before), "one changed")
	require.Equal(t, map[string]string{"r0": "B"}, intentsOf(t, s), "what has changed since stays")
	require.Eventually(t, func() bool { return len(latest()) == 1 }, time.Minute, 5*time.Millisecond)

	n, err = s.Forget(t.Context(), "another", "s")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, intentsOf(t, s))
}

func TestSpent(t *testing.T) {
	example := func(run, intent, source string, at int64) learning.Example {
		return learning.Example{Lesson: lesson(run, intent, source, at)}
	}
	gone := func(run string, at int64) learning.Example {
		return learning.Example{Lesson: lesson(run, "", "feedback", at), Removed: true}
	}
	unused := func(run, source string, reason expand.Reason) record.Unused {
		return record.Unused{Lesson: lesson(run, "A", source, 0), Reason: reason}
	}
	spent := learning.Spent([]learning.Example{
		example("said long ago", "A", "feedback", 1), example("oldest", "A", "llm", 10), example("newest", "A", "llm", 30), example("newer", "A", "llm", 20),
		example("of another", "B", "llm", 2), gone("removed long ago", 40), gone("removed", 60),
		example("repeated", "A", "llm", 99), example("of an unknown intent", "C", "llm", 3), example("said, and repeated", "D", "feedback", 3),
		example("much from one", "D", "feedback", 4), example("an injection", "D", "feedback", 5),
	}, []record.Unused{
		unused("much from one", "feedback", record.Share), unused("an injection", "feedback", record.Injection), unused("repeated", "llm", expand.Repeated), unused("of an unknown intent", "llm", record.Unknown), unused("said, and repeated", "feedback", expand.Repeated),
	}, 3, time.UnixMilli(50))
	var runs []string
	for _, e := range spent {
		runs = append(runs, e.RunID)
	}
	require.ElementsMatch(t, []string{"oldest", "removed long ago", "repeated", "much from one", "an injection"}, runs)
}

func envelope(t *testing.T, hook string, event any, ctx payload.Context) []byte {
	t.Helper()
	e, err := json.Marshal(event)
	require.NoError(t, err)
	body, err := json.Marshal(payload.Envelope{Hook: hook, Event: e, Ctx: payload.JSON(ctx), TS: 1763680000007, ID: "f"})
	require.NoError(t, err)
	return body
}

func TestDecodeFact(t *testing.T) {
	ctx := payload.Context{RunID: "of the context", SessionID: "s"}
	answer := func(source, intent string, confidence float64) payload.TurnBegun {
		return payload.TurnBegun{RunID: "r", Prompt: "p", Result: &payload.Classification{Intent: intent, Confidence: confidence, Source: source, Complexity: "low"}}
	}
	nameless := answer("llm", "A", 0.9)
	nameless.RunID = ""
	for _, row := range []struct {
		name string
		body []byte
		want learning.Fact
	}{
		{"feedback", envelope(t, subjects.HookFeedback, payload.Feedback{Kind: "hint", RunID: "r", Verdict: "wrong"}, ctx), learning.Fact{Session: "s", Run: "r", Key: store.Key{TS: 1763680000007, ID: "f"}}},
		{"a sure model", envelope(t, subjects.HookTurnBegun, answer("llm", "A", 0.9), ctx), learning.Fact{Session: "s", Run: "r"}},
		{"the run of the context", envelope(t, subjects.HookTurnBegun, nameless, ctx), learning.Fact{Session: "s", Run: "of the context"}},
		{"feedback on a group", envelope(t, subjects.HookFeedback, payload.Feedback{Kind: "triage", MessageID: "m", Group: "g", Verdict: "skip"}, ctx), learning.Fact{}},
		{"a model that is not sure", envelope(t, subjects.HookTurnBegun, answer("llm", "A", 0.89), ctx), learning.Fact{}},
		{"the local classifier", envelope(t, subjects.HookTurnBegun, answer("local", "A", 0.99), ctx), learning.Fact{}},
		{"no intent", envelope(t, subjects.HookTurnBegun, answer("llm", "OTHER", 0.99), ctx), learning.Fact{}},
		{"no run", envelope(t, subjects.HookTurnBegun, nameless, payload.Context{SessionID: "s"}), learning.Fact{}},
		{"another hook", envelope(t, subjects.HookAgentEnd, map[string]any{}, ctx), learning.Fact{}},
		{"no feedback", envelope(t, subjects.HookFeedback, map[string]any{"kind": 1}, ctx), learning.Fact{}},
		{"no JSON", []byte("{"), learning.Fact{}},
		{
			"a chat", envelope(t, subjects.HookTurnBegun, answer("llm", "A", 0.9), payload.Context{SessionID: "s", SessionKey: "Agent:main:telegram:direct:5550100"}),
			learning.Fact{Session: "s", Run: "r", Chat: "4ad41bf003c695c1"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			session, _, fact, err := learning.DecodeFact("", "f", row.body)
			require.NoError(t, err)
			require.Equal(t, row.want, fact)
			require.Equal(t, row.want.Session, session)
		})
	}
}

// sessions is a session store with one turn, from a given look on.
type sessions struct {
	store.Reader
	mu    sync.Mutex
	looks int
	from  int
	turn  store.Turn
}

func (s *sessions) Get(context.Context, string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks++; s.looks < s.from {
		return nil, store.ErrNotFound
	}
	return json.Marshal(map[string]any{"current": s.turn})
}

func (s *sessions) Retired(context.Context, string) ([]json.RawMessage, error) { return nil, nil }

func turnOf(result *payload.Classification, feedback *store.Judgement) store.Turn {
	return store.Turn{
		RunID: "r", Input: "do I need an umbrella", Begin: store.Key{TS: 1, ID: "b"}, Feedback: feedback,
		Intent: store.Intent{Result: result}, Timestamps: store.Timestamps{Start: "2026-01-01T00:00:00.000Z"},
	}
}

func TestSink(t *testing.T) {
	sure := &payload.Classification{Intent: "A", Confidence: 0.95, Source: "llm", Complexity: "low"}
	marked := func(verdict, intent string) *store.Judgement {
		return &store.Judgement{Feedback: store.Feedback{Verdict: verdict, Intent: intent}, At: "2026-01-01T00:00:00.009Z", Key: store.Key{TS: 9, ID: "f"}}
	}
	feedback := learning.Fact{Session: "s", Run: "r", Key: store.Key{TS: 9, ID: "f"}}
	answer := learning.Fact{Session: "s", Run: "r"}
	for _, row := range []struct {
		name   string
		turn   store.Turn
		fact   learning.Fact
		from   int // the look at which the sessions have the turn
		behind int // looks until the sessions have caught up
		known  bool
		// suspect is a text that looks like a prompt injection.
		suspect string
		want    map[string]string
	}{
		{name: "feedback", turn: turnOf(sure, marked("wrong", "B")), fact: feedback, want: map[string]string{"r": "B"}},
		{name: "an answer", turn: turnOf(sure, nil), fact: answer, want: map[string]string{"r": "A"}},
		{name: "an answer that is known", turn: turnOf(sure, nil), fact: answer, known: true, want: map[string]string{}},
		{name: "feedback on what is known", turn: turnOf(sure, marked("right", "")), fact: feedback, known: true, want: map[string]string{"r": "A"}},
		{name: "sessions that are behind", turn: turnOf(sure, nil), fact: answer, from: 4, behind: 100, want: map[string]string{"r": "A"}},
		{name: "sessions that caught up between two looks", turn: turnOf(sure, nil), fact: answer, from: 3, behind: 2, want: map[string]string{"r": "A"}},
		{name: "a run that nobody knows", turn: turnOf(sure, nil), fact: learning.Fact{Session: "s", Run: "x"}, behind: 3, want: map[string]string{}},
		{name: "a person's injection", turn: turnOf(sure, marked("wrong", "B")), fact: feedback, suspect: "do I need an umbrella", want: map[string]string{}},
		{name: "a model's injection", turn: turnOf(sure, nil), fact: answer, suspect: "do I need an umbrella", want: map[string]string{}},
		{name: "a verdict without an intent", turn: turnOf(sure, marked("wrong", "")), fact: feedback, want: map[string]string{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := open(t)
			looks := 0
			sink := &learning.Sink{
				Store: s, Sessions: &sessions{turn: row.turn, from: row.from}, Log: slog.New(slog.DiscardHandler),
				MinConfidence: func() float64 { return 0.5 }, Suspect: func(text string) bool { return text == row.suspect }, Refuses: func(record.Lesson) bool { return row.known },
				Applied: func(context.Context) (applied, last uint64, err error) {
					if looks++; looks >= row.behind {
						return 10, 10, nil
					}
					return 5, 10, nil
				},
			}
			if row.behind == 0 {
				sink.Applied = func(context.Context) (applied, last uint64, err error) { return 10, 10, nil }
			}
			if row.name == "a verdict without an intent" {
				_, err := s.Put(t.Context(), record.Lesson{RunID: "r", Session: "s", Text: "x", Intent: "A", Source: "llm", At: 1})
				require.NoError(t, err)
			}
			require.NoError(t, sink.Apply(t.Context(), []learning.Fact{row.fact}))
			require.NoError(t, sink.Apply(t.Context(), []learning.Fact{row.fact}), "again")
			require.Equal(t, row.want, intentsOf(t, s))
		})
	}
}

func TestSinkGivesTheEventBackWhenItStops(t *testing.T) {
	ending := make(chan struct{})
	close(ending)
	sink := &learning.Sink{
		Store: open(t), Sessions: &sessions{from: 1 << 30}, Ending: ending, Log: slog.New(slog.DiscardHandler),
		Applied: func(context.Context) (applied, last uint64, err error) { return 0, 10, nil },
	}
	err := sink.Apply(t.Context(), []learning.Fact{{Session: "s", Run: "r"}})
	var temporary interface{ Temporary() bool }
	require.ErrorAs(t, err, &temporary)
	require.True(t, temporary.Temporary())

	away := errors.New("server away")
	sink.Applied = func(context.Context) (applied, last uint64, err error) { return 0, 0, away }
	err = sink.Apply(t.Context(), []learning.Fact{{Session: "s", Run: "r"}})
	require.ErrorIs(t, err, away)
	require.ErrorAs(t, err, &temporary)
}

// An example that could not be stored is given back, and not counted as learnt.
func TestSinkGivesBackWhatIsNotStored(t *testing.T) {
	limited := config
	limited.MaxValueSize = 16
	sure := &payload.Classification{Intent: "A", Confidence: 0.95, Source: "llm", Complexity: "low"}
	sink := &learning.Sink{
		Store: learning.New(natstest.JetStream(t, natstest.Start(t, nil)), limited), Sessions: &sessions{turn: turnOf(sure, nil)}, Log: slog.New(slog.DiscardHandler),
		MinConfidence: func() float64 { return 0.5 }, Suspect: func(string) bool { return false }, Refuses: func(record.Lesson) bool { return false },
		Applied: func(context.Context) (applied, last uint64, err error) { return 10, 10, nil },
	}
	err := sink.Apply(t.Context(), []learning.Fact{{Session: "s", Run: "r"}})
	var temporary interface{ Temporary() bool }
	require.ErrorAs(t, err, &temporary)
	require.Empty(t, intentsOf(t, sink.Store))
}

func TestLongRunIDs(t *testing.T) {
	s := open(t)
	long := strings.Repeat("r", 5000)
	_, err := s.Put(t.Context(), lesson(long, "A", "llm", 1))
	require.NoError(t, err)
	require.Equal(t, map[string]string{long: "A"}, intentsOf(t, s))
}

// A session that is forgotten keeps no example that changes at that moment.
func TestForgetWhatChangesMeanwhile(t *testing.T) {
	s := open(t)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := int64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = s.Put(t.Context(), lesson("r", fmt.Sprint("I", i%2), "feedback", i))
			}
		}
	})
	deleted := 0
	for range 20 {
		n, err := s.Forget(t.Context(), "s")
		require.NoError(t, err)
		deleted += n
	}
	close(stop)
	writing.Wait()
	require.Positive(t, deleted)
	n, err := s.Forget(t.Context(), "s")
	require.NoError(t, err)
	require.LessOrEqual(t, n, 1)
	require.Empty(t, intentsOf(t, s))
}
