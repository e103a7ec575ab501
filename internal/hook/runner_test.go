package hook

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/payload"
	"intenthint/subjects"
)

var quiet = slog.New(slog.DiscardHandler)

// handler is a handler of a priority.
func handler(name string, priority int, do func(context.Context, *Request) (Result, error)) Handler {
	return Handler{Name: name, Priority: priority, Handle: do}
}

func text(s string) Result {
	if s == "" {
		return Result{}
	}
	return Result{Decision: PrependContext{Text: s}}
}

func says(s string) func(context.Context, *Request) (Result, error) {
	return func(context.Context, *Request) (Result, error) { return text(s), nil }
}

// runner has a second for each request, and so much of it for each handler.
func runner(budget time.Duration, hook string, handlers ...Handler) *Runner {
	return NewRunner(Hook{Name: hook, Handlers: handlers, Unasked: func(cause error, _ time.Duration) map[string][]string {
		return map[string][]string{"Unasked": {cause.Error()}}
	}}, Options{Timeout: func() time.Duration { return time.Second }, Budget: func(string) time.Duration { return budget }, Log: quiet})
}

func request(hook string) bus.Request {
	body, _ := json.Marshal(payload.Envelope{Hook: hook, Event: []byte("{}"), Ctx: []byte("{}")})
	return bus.Request{Data: body, Received: time.Now()}
}

// decide returns what the runner replies, which it does once.
func decide(t *testing.T, r *Runner, req bus.Request) (reply bus.Reply) {
	t.Helper()
	replied := make(chan struct{})
	go r.Answer(t.Context(), req, func(a bus.Reply) { reply = a; close(replied) })
	<-replied
	return reply
}

const promptBuild = subjects.HookBeforePromptBuild

// prepended is the text of a reply.
func prepended(t *testing.T, r bus.Reply) string {
	t.Helper()
	var body struct {
		PrependContext string `json:"prependContext"`
	}
	require.NoError(t, json.Unmarshal(r.Body, &body))
	return body.PrependContext
}

func TestTextsAreJoinedInOrderOfPriority(t *testing.T) {
	r := runner(0, promptBuild,
		handler("low", -5, says("e")), handler("first of two", 10, says("b")), handler("second of two", 10, says("c")),
		handler("silent", 11, says("")), handler("high", 100, says("a")), handler("middle", 0, says("d")))
	require.Equal(t, "a\n\nb\n\nc\n\nd\n\ne", prepended(t, decide(t, r, request(promptBuild))))
}

func TestWhatFailsIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := runner(100*time.Millisecond, promptBuild,
			handler("deaf", 4, func(context.Context, *Request) (Result, error) { <-release; return text("late"), nil }),
			handler("panics", 3, func(context.Context, *Request) (Result, error) { panic("boom") }),
			handler("fails", 2, func(context.Context, *Request) (Result, error) { return text("x"), errors.New("no") }),
			handler("works", 1, says("fine")))
		began := time.Now()
		require.Equal(t, "fine", prepended(t, decide(t, r, request(promptBuild))))
		require.Equal(t, 150*time.Millisecond, time.Since(began), "the budget, and half of the margin of 100 ms")
		close(release)
		synctest.Wait()
	})
}

func TestAHandlerKnowsTheCaller(t *testing.T) {
	r := runner(0, promptBuild, handler("one", 0, func(_ context.Context, req *Request) (Result, error) { return text(req.Caller), nil }))
	req := request(promptBuild)
	req.Caller = "_INBOX.gateway"
	require.Equal(t, "_INBOX.gateway", prepended(t, decide(t, r, req)))
}

func TestEachHandlerHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []time.Duration
		patient := func(ctx context.Context, req *Request) (Result, error) {
			deadline, ok := ctx.Deadline()
			require.True(t, ok)
			require.Equal(t, deadline, req.Deadline)
			left = append(left, time.Until(deadline))
			<-ctx.Done()
			return text("at the deadline"), nil
		}
		r := runner(300*time.Millisecond, promptBuild, handler("a", 0, patient), handler("b", 0, patient), handler("c", 0, patient), handler("d", 0, patient))
		require.Equal(t, strings.Repeat("at the deadline\n\n", 3)+"at the deadline", prepended(t, decide(t, r, request(promptBuild))))
		require.Equal(t, []time.Duration{300 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond, 0}, left, "the request has 900 ms")
	})
}

func TestACommittedAnswerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late atomic.Bool
		slow := handler("slow to say", 1, func(_ context.Context, req *Request) (Result, error) {
			require.True(t, req.Commit())
			time.Sleep(5 * time.Second)
			return text("committed"), nil
		})
		leftOut := handler("left out", 0, func(_ context.Context, req *Request) (Result, error) {
			time.Sleep(time.Second)
			late.Store(!req.Commit())
			return text("nobody hears this"), nil
		})
		leftOut.Omitted = func(_ *Request, cause error) Result {
			return Result{Decision: PrependContext{Text: "never"}, Header: map[string][]string{"Why": {cause.Error()}}}
		}
		reply := decide(t, runner(0, promptBuild, slow, leftOut), request(promptBuild))
		require.Equal(t, "committed", prepended(t, reply))
		require.Equal(t, ErrOverrun.Error(), reply.Header.Get("Why"))
		time.Sleep(2 * time.Second)
		require.True(t, late.Load())
	})
}

func TestTheFirstThatHandledADispatchEndsIt(t *testing.T) {
	asked := 0
	ask := func(res Result) func(context.Context, *Request) (Result, error) {
		return func(context.Context, *Request) (Result, error) { asked++; return res, nil }
	}
	r := runner(0, subjects.HookBeforeDispatch, handler("none", 2, ask(Result{})), handler("first", 1, ask(Result{Decision: Handled{}})), handler("second", 0, ask(Result{})))
	require.Equal(t, `{"handled":true}`, string(decide(t, r, request(subjects.HookBeforeDispatch)).Body))
	require.Equal(t, 2, asked)
}

func TestRequestsForWhichNoHandlerIsAsked(t *testing.T) {
	waited := request(promptBuild)
	waited.Received = time.Now().Add(-59 * time.Second)
	hurried := request(promptBuild)
	hurried.Timeout = time.Microsecond
	for _, row := range []struct {
		name    string
		req     bus.Request
		body    string
		code    int
		unasked string
	}{
		{"in time", request(promptBuild), `{"prependContext":"x"}`, 0, ""},
		{"beyond its deadline", waited, `{}`, 0, "overloaded"},
		{"nobody could be in time", hurried, `{"prependContext":"x"}`, 0, ""},
		{"another hook", request("before_tool_call"), `{}`, 0, "another hook"},
		{"no JSON", bus.Request{Data: []byte("garbage"), Received: time.Now()}, `{}`, 400, "invalid message"},
		{"a context of the wrong type", bus.Request{Data: []byte(`{"hook":"before_prompt_build","event":{},"ctx":{"runId":5}}`), Received: time.Now()}, `{}`, 400, "invalid message"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.req.Traceparent = "00-1-2-01"
			reply := decide(t, runner(0, promptBuild, handler("says", 0, says("x"))), row.req)
			require.Equal(t, row.body, string(reply.Body))
			require.Equal(t, row.code, reply.Code)
			require.Equal(t, row.code != 0, reply.Error != "")
			require.Contains(t, reply.Header.Get("Unasked"), row.unasked)
			if row.code == 0 {
				require.Equal(t, "00-1-2-01", reply.Header.Get(subjects.HeaderTraceparent))
			}
		})
	}
}

func TestAHandlerMayRefuseARequest(t *testing.T) {
	r := runner(0, promptBuild, handler("picky", 0, func(context.Context, *Request) (Result, error) {
		return Result{Header: map[string][]string{"A": {"1"}}}, payload.ErrInvalid
	}))
	reply := decide(t, r, request(promptBuild))
	require.Equal(t, 400, reply.Code)
	require.Equal(t, "1", reply.Header.Get("A"))
}

func TestDecisionsAreWhatTheGatewayExpects(t *testing.T) {
	for _, row := range []struct {
		name string
		d    Decision
		want string
	}{
		{"a text, with its brackets as they are", PrependContext{Text: "<b>\n\"q\" &"}, `{"prependContext":"<b>\n\"q\" &"}`},
		{"handled", Handled{}.Join(nil), `{"handled":true}`},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, string(payload.JSON(row.d))) })
	}
}

func TestDeadline(t *testing.T) {
	at := time.Now()
	for _, row := range []struct {
		name               string
		caller, configured time.Duration
		want               time.Duration
	}{
		{"the caller's is smaller", 1000 * time.Millisecond, 3 * time.Second, 900 * time.Millisecond},
		{"the configured is smaller", 10 * time.Second, 3 * time.Second, 2700 * time.Millisecond},
		{"the caller did not say", 0, 3 * time.Second, 2700 * time.Millisecond},
		{"at least 20 ms are kept", 100 * time.Millisecond, 3 * time.Second, 80 * time.Millisecond},
		{"less than the margin: at once", 5 * time.Millisecond, 3 * time.Second, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			until, margin := deadline(at, row.caller, row.configured)
			require.Equal(t, row.want, until.Sub(at))
			require.GreaterOrEqual(t, margin, 20*time.Millisecond)
		})
	}
}
