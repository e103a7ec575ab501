package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/store"
	"intenthint/subjects"
)

var quiet = slog.New(slog.DiscardHandler)

func says(text string) Handler {
	return func(context.Context, *Request) (Result, error) { return Result{PrependContext: text}, nil }
}

func request(hook string) *Request {
	now := time.Now()
	return &Request{Envelope: payload.Envelope{Hook: hook}, Received: now, Deadline: now.Add(time.Second), Margin: 40 * time.Millisecond}
}

func noBudget(string) time.Duration { return 0 }

// decide returns what the runner replies, which it does once.
func decide(t *testing.T, r *Runner, req *Request) (res Result, err error) {
	t.Helper()
	replied := make(chan struct{})
	go r.Run(t.Context(), req, func(a Result, b error) { res, err = a, b; close(replied) })
	<-replied
	return res, err
}

func TestRunnerJoinsInOrderOfPriority(t *testing.T) {
	r := NewRunner(noBudget, quiet)
	hook := subjects.HookBeforePromptBuild
	r.On(hook, "low", -5, says("e"), nil)
	r.On(hook, "first of two", 10, says("b"), nil)
	r.On(hook, "second of two", 10, says("c"), nil)
	r.On(hook, "silent", 11, says(""), nil)
	r.On(hook, "high", 100, says("a"), nil)
	r.On(hook, "middle", 0, says("d"), nil)
	res, err := decide(t, r, request(hook))
	require.NoError(t, err)
	require.Equal(t, "a\n\nb\n\nc\n\nd\n\ne", res.PrependContext)
	require.True(t, r.Handles(hook))
	require.False(t, r.Handles("before_dispatch"))
	require.Equal(t, []string{hook}, r.Hooks())
}

func TestRunnerLeavesOutWhatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRunner(func(string) time.Duration { return 100 * time.Millisecond }, quiet)
		hook := subjects.HookBeforePromptBuild
		release := make(chan struct{})
		r.On(hook, "deaf", 4, func(context.Context, *Request) (Result, error) { <-release; return Result{PrependContext: "late"}, nil }, nil)
		r.On(hook, "panics", 3, func(context.Context, *Request) (Result, error) { panic("boom") }, nil)
		r.On(hook, "fails", 2, func(context.Context, *Request) (Result, error) { return Result{PrependContext: "x"}, errors.New("no") }, nil)
		r.On(hook, "works", 1, says("fine"), nil)
		began := time.Now()
		res, err := decide(t, r, request(hook))
		require.NoError(t, err)
		require.Equal(t, "fine", res.PrependContext)
		require.Equal(t, 120*time.Millisecond, time.Since(began))
		close(release)
		untilWorkersGo()
	})
}

func TestRunnerGivesEachHandlerItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRunner(func(string) time.Duration { return 300 * time.Millisecond }, quiet)
		hook := subjects.HookBeforePromptBuild
		var left []time.Duration
		patient := func(ctx context.Context, req *Request) (Result, error) {
			deadline, ok := ctx.Deadline()
			require.True(t, ok)
			require.Equal(t, deadline, req.Deadline)
			left = append(left, time.Until(deadline))
			<-ctx.Done()
			return Result{PrependContext: "at the deadline"}, nil
		}
		r.On(hook, "a", 0, patient, nil)
		r.On(hook, "b", 0, patient, nil)
		r.On(hook, "c", 0, patient, nil)
		r.On(hook, "d", 0, patient, nil)
		res, err := decide(t, r, request(hook))
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("at the deadline\n\n", 3)+"at the deadline", res.PrependContext)
		require.Equal(t, []time.Duration{300 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond, 100 * time.Millisecond}, left)
		untilWorkersGo()
	})
}

func TestRunnerWaitsForAnAnswerThatWasCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRunner(noBudget, quiet)
		var late atomic.Bool
		r.On("h", "slow to say", 1, func(_ context.Context, req *Request) (Result, error) {
			require.True(t, req.Commit())
			time.Sleep(5 * time.Second)
			return Result{PrependContext: "committed"}, nil
		}, nil)
		r.On("h", "left out", 0, func(_ context.Context, req *Request) (Result, error) {
			time.Sleep(time.Second)
			late.Store(!req.Commit())
			return Result{PrependContext: "nobody hears this"}, nil
		}, func(_ *Request, cause error) Result {
			return Result{PrependContext: "never", Header: map[string][]string{"Why": {cause.Error()}}}
		})
		res, err := decide(t, r, request("h"))
		require.NoError(t, err)
		require.Equal(t, "committed", res.PrependContext)
		require.Equal(t, ErrOverrun.Error(), header(res, "Why"))
		time.Sleep(2 * time.Second)
		require.True(t, late.Load())
		untilWorkersGo()
	})
}

// untilWorkersGo lets the time pass for which idle workers are kept.
func untilWorkersGo() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func TestRunnerStopsAtTheFirstThatHandledADispatch(t *testing.T) {
	r := NewRunner(noBudget, quiet)
	asked := 0
	r.On(subjects.HookBeforeDispatch, "first", 1, func(context.Context, *Request) (Result, error) { asked++; return Result{Handled: true}, nil }, nil)
	r.On(subjects.HookBeforeDispatch, "second", 0, func(context.Context, *Request) (Result, error) { asked++; return Result{}, nil }, nil)
	res, err := decide(t, r, request(subjects.HookBeforeDispatch))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Equal(t, `{"handled":true}`, string(res.Body()))
}

func TestRunnerPassesOnAnInvalidRequest(t *testing.T) {
	r := NewRunner(noBudget, quiet)
	r.On("h", "picky", 0, func(context.Context, *Request) (Result, error) {
		return Result{Header: map[string][]string{"A": {"1"}}}, payload.ErrInvalid
	}, nil)
	res, err := decide(t, r, request("h"))
	require.ErrorIs(t, err, payload.ErrInvalid)
	require.Equal(t, map[string][]string{"A": {"1"}}, res.Header)
}

func TestBody(t *testing.T) {
	for _, row := range []struct {
		name string
		res  Result
		want string
	}{
		{"no decision", Result{}, `{}`},
		{"a text, with its brackets as they are", Result{PrependContext: "<b>\n\"q\" &"}, `{"prependContext":"<b>\n\"q\" &"}`},
		{"handled", Result{Handled: true}, `{"handled":true}`},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, string(row.res.Body())) })
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
			deadline, margin := Deadline(at, row.caller, row.configured)
			require.Equal(t, row.want, deadline.Sub(at))
			require.GreaterOrEqual(t, margin, 20*time.Millisecond)
		})
	}
}

func event(hook, event, ctx string) []byte {
	return []byte(`{"hook":"` + hook + `","event":` + event + `,"ctx":` + ctx + `,"ts":1763680000123,"id":"e1"}`)
}

func TestFact(t *testing.T) {
	const ctx = `{"runId":"r1","agentId":"ops","sessionId":"s1","sessionKey":"agent:ops:web1"}`
	base := store.Fact{ID: "e1", TS: 1763680000123, RunID: "r1", SessionID: "s1", SessionKey: "agent:ops:web1", AgentID: "ops"}
	for _, row := range []struct {
		name    string
		body    []byte
		session string
		want    func(f *store.Fact)
	}{
		{"a tool call", event("after_tool_call", `{"toolName":"read","params":{"path":"a"},"toolCallId":"c1","result":{"content":[{"type":"text","text":"hello"}]},"durationMs":12}`, ctx), "s1", func(f *store.Fact) {
			f.Call = &store.Call{ToolCallID: "c1", Name: "read", Params: json.RawMessage(`{"path":"a"}`), Result: "hello", DurationMs: 12}
		}},
		{"a failed tool call", event("after_tool_call", `{"toolName":"read","toolCallId":"c1","result":{"content":[{"type":"text","text":"x"}]},"error":"no file"}`, ctx), "s1", func(f *store.Fact) {
			f.Call = &store.Call{ToolCallID: "c1", Name: "read", Error: "no file"}
		}},
		{"the event's run wins", event("agent_end", `{"runId":"r2","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`, ctx), "s1", func(f *store.Fact) {
			f.RunID = "r2"
			f.End = &store.End{Result: "a"}
		}},
		{"a session that ends", event("session_end", `{"reason":"new","sessionId":"other"}`, ctx), "s1", func(f *store.Fact) {
			f.Close = &store.Close{Reason: "new"}
		}},
		{"a session end that only the event names", event("session_end", `{"reason":"new","sessionId":"s9","sessionKey":"k9"}`, `{}`), "s9", func(f *store.Fact) {
			*f = store.Fact{ID: "e1", TS: 1763680000123, SessionID: "s9", SessionKey: "k9", AgentID: "main", Close: &store.Close{Reason: "new"}}
		}},
		{"a turn", event("turn_begun", `{"runId":"r1","prompt":"q","conversation":[{"role":"user","text":"before"}],"hint":"h"}`, ctx), "s1", func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "q", Conversation: []payload.Turn{{Role: "user", Text: "before"}}}
		}},
		{"a session key stands in for the id", event("session_end", `{"reason":"new"}`, `{"sessionKey":"agent:ops:web1"}`), "agent:ops:web1", func(f *store.Fact) {
			*f = store.Fact{ID: "e1", TS: 1763680000123, SessionKey: "agent:ops:web1", AgentID: "ops", Close: &store.Close{Reason: "new"}}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			session, _, fact, err := Fact("", row.body)
			require.NoError(t, err)
			require.Equal(t, row.session, session)
			want := base
			row.want(&want)
			require.Equal(t, want, fact)
		})
	}
}

func TestFactKeepsNothingOf(t *testing.T) {
	for _, row := range []struct {
		name string
		body []byte
	}{
		{"a hook that nobody observes", event("llm_output", `{}`, `{"sessionId":"s"}`)},
		{"a hook nobody has heard of", event("brand_new", `{}`, `{"sessionId":5}`)},
		{"an event without a session", event("agent_end", `{}`, `{}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			session, _, _, err := Fact("", row.body)
			require.NoError(t, err)
			require.Empty(t, session)
		})
	}
}

func TestFactRefuses(t *testing.T) {
	for _, row := range []struct {
		name string
		body []byte
	}{
		{"garbage", []byte("garbage")},
		{"a wrong type in a context we read", event("agent_end", `{}`, `{"sessionId":5}`)},
		{"a wrong type in an event we read", event("after_tool_call", `{"toolName":5}`, `{"sessionId":"s"}`)},
		{"no ts", []byte(`{"hook":"agent_end","event":{},"ctx":{},"id":"x"}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, _, err := Fact("", row.body)
			require.ErrorIs(t, err, payload.ErrInvalid)
		})
	}
}

// A session in memory must not keep the bodies of its events there.
func TestAFactDoesNotKeepItsEvent(t *testing.T) {
	const count, size = 20, 1 << 20
	padding := strings.Repeat("x", size)
	for _, row := range []struct{ name, hook, event string }{
		{"turn_begun", "turn_begun", `{"prompt":"p","conversation":[{"role":"user","text":"t"}],"result":{"intent":"I"},"hint":"%s"}`},
		{"after_tool_call", "after_tool_call", `{"toolName":"exec","params":{"command":"ls"},"result":{"content":[{"type":"text","text":"%s"}]}}`},
		{"after_tool_call that failed", "after_tool_call", `{"toolName":"exec","error":"failed","result":"%s"}`},
		{"after_tool_call with a skill", "after_tool_call", `{"toolName":"read","params":{"path":"SKILL.md"},"result":"---\nname: weather\ndescription: a: b\n---\n%s"}`},
		{"agent_end", "agent_end", `{"messages":[{"role":"user","content":"%s"},{"role":"assistant","content":"done"}]}`},
		{"session_end", "session_end", `{"reason":"reset","padding":"%s"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			body := event(row.hook, strings.ReplaceAll(row.event, "%s", padding), `{"sessionId":"s","runId":"r"}`)
			facts := make([]store.Fact, count)
			before := inUse()
			for i := range facts {
				var err error
				_, _, facts[i], err = Fact("", bytes.Clone(body))
				require.NoError(t, err)
			}
			require.Less(t, int64(inUse())-int64(before), int64(count*size/4)) //nolint:gosec // no heap is that large
			require.Equal(t, "s", facts[0].SessionID)
		})
	}
}

// inUse is the memory in use, in bytes.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestResultIsCutInCharacters(t *testing.T) {
	long := strings.Repeat("語", 250)
	_, _, fact, err := Fact("", event("after_tool_call", `{"toolName":"exec","result":{"content":[{"type":"text","text":"`+long+`"}]}}`, `{"sessionId":"s"}`))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("語", 200), fact.Call.Result)
}

// aliases is front matter in which each of so many lists is four times the one
// before.
func aliases(depth int) string {
	var text strings.Builder
	text.WriteString("---\nname: weather\na0: &a0 [x]\n")
	for i := range depth {
		fmt.Fprintf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d]\n", i+1, i+1, i, i, i, i)
	}
	return text.String() + "---\n"
}

func TestSkillRead(t *testing.T) {
	const text = "---\nname: weather\ndescription: \"x\"\n---\nbody"
	for _, row := range []struct {
		name, tool, params, text string
		want                     *store.Skill
	}{
		{"a skill", "read", `{"path":"/skills/weather/SKILL.md"}`, text, &store.Skill{Name: "weather", Path: "/skills/weather/SKILL.md"}},
		{"the other spelling of the parameter", "Read", `{"file_path":"SKILL.md"}`, text, &store.Skill{Name: "weather", Path: "SKILL.md"}},
		{"line ends of another system", "read", `{"path":"SKILL.md"}`, strings.ReplaceAll(text, "\n", "\r\n"), &store.Skill{Name: "weather", Path: "SKILL.md"}},
		{"front matter that is loose YAML", "read", `{"path":"SKILL.md"}`, "---\nname: weather\ndescription: use when: it rains\n---\n", &store.Skill{Name: "weather", Path: "SKILL.md"}},
		{"front matter cut off", "read", `{"path":"SKILL.md"}`, "---\nname: weather\ndescr", nil},
		{"front matter that a YAML parser would read for hours", "read", `{"path":"SKILL.md"}`, "---\nname: weather\nx: " + strings.Repeat("[", 1<<20) + "\n---\n", &store.Skill{Name: "weather", Path: "SKILL.md"}},
		{"front matter that would fill the memory", "read", `{"path":"SKILL.md"}`, aliases(60), &store.Skill{Name: "weather", Path: "SKILL.md"}},
		{"another tool", "exec", `{"path":"SKILL.md"}`, text, nil},
		{"another file", "read", `{"path":"SKILL.md.bak"}`, text, nil},
		{"no front matter", "read", `{"path":"SKILL.md"}`, "name: weather", nil},
		{"no name", "read", `{"path":"SKILL.md"}`, "---\ndescription: x\n---\n", nil},
		{"a blank name", "read", `{"path":"SKILL.md"}`, "---\nname: \"  \"\n---\n", nil},
		{"parameters of another shape", "read", `["SKILL.md"]`, text, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, skillRead(row.tool, json.RawMessage(row.params), row.text))
		})
	}
}
