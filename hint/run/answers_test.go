package run

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/hint/eligibility"
	"intenthint/payload"
)

// promises are the claims of other processes.
type promises struct {
	mu       sync.Mutex
	until    map[string]time.Time
	claimed  []string
	released []string
}

func (p *promises) Claim(_ context.Context, key string, now, _ time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claimed = append(p.claimed, key)
	if until := p.until[key]; now.Before(until) {
		return until
	}
	return time.Time{}
}

func (p *promises) Release(_ context.Context, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = append(p.released, key)
}

var taken = Answer{Hint: "intent: CODE\ncomplexity: low\n", Result: &payload.Classification{Intent: "CODE"}}

// asked is a request of a run with a second's time, whose model is asked for
// real: what it says and how long that takes.
type asked struct {
	Request
	began    time.Time
	prepared string
	calls    int
}

func ask(key string, answer Answer, takes time.Duration) *asked {
	q := &asked{began: time.Now()}
	q.Request = Request{
		Key: key, Prompt: "write code", Deadline: time.Now().Add(time.Second),
		Prepare:   func(first string) { q.prepared = first },
		AsksModel: func() bool { return true },
		Classify: func(ctx context.Context) Answer {
			q.calls++
			if ctx.Err() != nil {
				return Answer{Skip: eligibility.Deadline}
			}
			time.Sleep(takes)
			return answer
		},
		Commit: func() bool { return true },
	}
	return q
}

// first asks, with patience until the deadline.
func (q *asked) first(as *Answers) (Answer, Origin) {
	ctx, cancel := context.WithDeadline(context.Background(), q.Deadline)
	defer cancel()
	return as.First(ctx, q.Request)
}

func TestARetryGetsTheFirstAnswer(t *testing.T) {
	as := NewAnswers(quiet)
	first := ask("r1", taken, 0)
	a, origin := first.first(as)
	require.Equal(t, taken, a)
	require.Equal(t, Fresh, origin)
	retry := ask("r1", Answer{Hint: "another"}, 0)
	retry.Prompt = "Continue the current task"
	a, origin = retry.first(as)
	require.Equal(t, taken, a)
	require.Equal(t, Repeated, origin)
	require.Zero(t, retry.calls)
}

func TestARetryAfterAFailureHasTheFirstPrompt(t *testing.T) {
	for _, skip := range []eligibility.Skip{eligibility.ClassifyFailed, eligibility.Deadline, eligibility.Overloaded} {
		t.Run(string(skip), func(t *testing.T) {
			as, claims := NewAnswers(quiet), &promises{}
			as.claimWith(claims)
			a, _ := ask("r1", Answer{Skip: skip}, 0).first(as)
			require.Equal(t, Answer{Skip: skip}, a)
			require.Equal(t, []string{"r1"}, claims.released)
			retry := ask("r1", taken, 0)
			retry.Prompt = "Continue the current task"
			a, origin := retry.first(as)
			require.Equal(t, taken, a)
			require.Equal(t, Fresh, origin)
			require.Equal(t, "write code", retry.prepared)
			require.Equal(t, []string{"r1"}, claims.released, "an answer keeps its claim")
		})
	}
}

// After a session was removed, its runs are unknown, and so are their prompts.
func TestARunOfARemovedSessionIsANewQuestion(t *testing.T) {
	as := NewAnswers(quiet)
	long := strings.Repeat("s", 300)
	ctxOf := func(session, run string) payload.Context { return payload.Context{SessionID: session, RunID: run} }
	for _, session := range []string{"s", "s2", long} {
		as.Learn(payload.EncodeTurnBegun("e1", 1, ctxOf(session, "answered"), payload.TurnBegun{RunID: "answered", Prompt: "removed", Hint: taken.Hint, Result: taken.Result}, 0))
		as.Learn(payload.EncodeUnanswered("before_prompt_build", "e2", 2, ctxOf(session, "unanswered"), "removed"))
	}
	for _, session := range []string{"s", long} {
		as.Learn(payload.EncodeSignal("session_removed", "e3", 3, payload.Context{SessionID: session}))
		as.Learn(payload.EncodeUnanswered("before_prompt_build", "e4", 2, ctxOf(session, "answered"), "removed"))
	}
	for _, run := range []string{"answered", "unanswered"} {
		for _, session := range []string{"s", long} {
			q := ask(Key(ctxOf(session, run)), taken, 0)
			_, origin := as.First(t.Context(), q.Request)
			require.Equal(t, Fresh, origin)
			require.Equal(t, "write code", q.prepared)
		}
	}
	_, origin := as.First(t.Context(), ask(Key(ctxOf("s2", "answered")), taken, 0).Request)
	require.Equal(t, Repeated, origin, "another session")
	_, origin = as.First(t.Context(), ask(Key(ctxOf("s", "answered")), taken, 0).Request)
	require.Equal(t, Repeated, origin, "it has an answer again")
}

func TestARunWithoutAnIDIsItsOwn(t *testing.T) {
	as := NewAnswers(quiet)
	for range 2 {
		q := ask("", taken, 0)
		_, origin := q.first(as)
		require.Equal(t, Fresh, origin)
		require.Equal(t, 1, q.calls)
	}
}

func TestAnAnswerThatIsNotUsedCountsAsDeadline(t *testing.T) {
	as := NewAnswers(quiet)
	late := ask("r1", taken, 0)
	late.Commit = func() bool { return false }
	a, origin := late.first(as)
	require.Equal(t, Answer{Skip: eligibility.Deadline}, a)
	require.Equal(t, Fresh, origin)
	_, origin = ask("r1", taken, 0).first(as)
	require.Equal(t, Fresh, origin)
}

func TestAPanicReleasesWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := NewAnswers(quiet)
		bad := ask("r1", taken, 0)
		bad.Classify = func(context.Context) Answer { panic("boom") }
		require.Panics(t, func() { bad.first(as) })
		q := ask("r1", taken, 0)
		_, origin := q.first(as)
		require.Equal(t, Fresh, origin)
		require.Zero(t, time.Since(q.began))
	})
}

func TestRequestsAtOnceMakeOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := NewAnswers(quiet)
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			origins = map[Origin]int{}
		)
		for range 10 {
			wg.Go(func() {
				a, origin := ask("r1", taken, 300*time.Millisecond).first(as)
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, taken, a)
				origins[origin]++
			})
		}
		wg.Wait()
		require.Equal(t, map[Origin]int{Fresh: 1, Repeated: 9}, origins)
	})
}

func TestARequestWithLittleTimeClassifiesForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := NewAnswers(quiet)
		var slow sync.WaitGroup
		slow.Go(func() { ask("r1", taken, 900*time.Millisecond).first(as) })
		synctest.Wait()
		q := ask("r1", taken, 0)
		q.Prompt, q.Deadline = "Continue", time.Now().Add(100*time.Millisecond)
		_, origin := q.first(as)
		require.Equal(t, Beside, origin)
		require.Equal(t, "write code", q.prepared)
		slow.Wait()
	})
}

func TestAnotherRequestsDeadlineIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := NewAnswers(quiet)
		var hurried sync.WaitGroup
		hurried.Go(func() { ask("r1", Answer{Skip: eligibility.Deadline}, 300*time.Millisecond).first(as) })
		synctest.Wait()
		a, origin := ask("r1", taken, 0).first(as)
		require.Equal(t, taken, a)
		require.Equal(t, Fresh, origin)
		hurried.Wait()
	})
}

// begun is the message that tells other processes of an answer.
func begun(a Answer) []byte {
	return payload.EncodeTurnBegun("e1", 1, payload.Context{RunID: "r1", SessionID: "s"}, payload.TurnBegun{RunID: "r1", Prompt: "write code", Hint: a.Hint, Skip: string(a.Skip), Result: a.Result}, 0)
}

const runOfBegun = "s\x00r1"

func TestARunThatAnotherProcessClassifiesIsWaitedFor(t *testing.T) {
	for _, row := range []struct {
		name     string
		promised time.Duration // how long the other process has promised to take
		says     Answer        // what it says, after 200 ms
		speaks   bool
		origin   Origin
		took     time.Duration
		calls    int
	}{
		{"it answers", time.Hour, taken, true, Repeated, 200 * time.Millisecond, 0},
		{"it is late", time.Hour, Answer{}, false, Fresh, time.Second, 1},
		{"it died", 500 * time.Millisecond, Answer{}, false, Fresh, 500*time.Millisecond + lateClaim, 1},
		{"its request had less time", 300 * time.Millisecond, Answer{Skip: eligibility.Deadline}, true, Fresh, 300*time.Millisecond + lateClaim, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				as := NewAnswers(quiet)
				as.claimWith(&promises{until: map[string]time.Time{runOfBegun: time.Now().Add(row.promised)}})
				if row.speaks {
					time.AfterFunc(200*time.Millisecond, func() { as.Learn(begun(row.says)) })
				}
				q := ask(runOfBegun, taken, 0)
				_, origin := q.first(as)
				require.Equal(t, row.origin, origin)
				require.Equal(t, row.took, time.Since(q.began))
				require.Equal(t, row.calls, q.calls)
			})
		})
	}
}

func TestALearnedAnswerDoesNotReplaceTheFirst(t *testing.T) {
	as := NewAnswers(quiet)
	other := Answer{Hint: "intent: CHAT", Result: &payload.Classification{Intent: "CHAT"}}
	as.Learn(begun(taken))
	as.Learn(begun(other))
	as.Learn([]byte("garbage"))
	a, origin := ask(runOfBegun, other, 0).first(as)
	require.Equal(t, taken, a)
	require.Equal(t, Repeated, origin)
}
