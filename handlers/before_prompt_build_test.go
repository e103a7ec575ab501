package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unique"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/hint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/intents"
	"intenthint/internal/fair"
	"intenthint/payload"
	"intenthint/subjects"
)

// recorder is the bus and the observer of a handler under test.
type recorder struct {
	mu       sync.Mutex
	begun    []payload.Envelope
	promised map[string]time.Time
	claims   []string
	released []string
	hints    []string
	skips    []string
}

func (r *recorder) TurnBegun(agent, session, id, traceparent string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	env, err := payload.DecodeEvent(body, "")
	if err != nil {
		panic(err)
	}
	if env.ID != id || agent == "" || session == "" || traceparent != "" {
		panic(fmt.Sprint("a turn that contradicts itself: ", agent, session, id, env.ID, traceparent))
	}
	r.begun = append(r.begun, env)
}

func (r *recorder) Claim(_ context.Context, run string, _ time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims = append(r.claims, run)
	if promised, ok := r.promised[run]; ok && time.Now().Before(promised) {
		return promised
	}
	return time.Time{}
}

func (r *recorder) Release(_ context.Context, run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released = append(r.released, run)
}

func (r *recorder) Hint(source, intent string, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hints = append(r.hints, source+" "+intent)
}

func (r *recorder) BadRequest() {}

func (r *recorder) Skip(reason eligibility.Skip, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skips = append(r.skips, string(reason))
}

func (r *recorder) Classified(string, time.Duration) {}

func (r *recorder) turns(t *testing.T) []payload.TurnBegun {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []payload.TurnBegun
	for _, env := range r.begun {
		begun, err := payload.DecodeTurnBegun(env.Event)
		require.NoError(t, err)
		out = append(out, begun)
	}
	return out
}

// stub is a classifier, local or a model.
type stub struct {
	calls  atomic.Int32
	answer func(ctx context.Context, in classify.Input) (payload.Classification, error)
}

func (s *stub) Classify(ctx context.Context, in classify.Input) (payload.Classification, error) {
	s.calls.Add(1)
	return s.answer(ctx, in)
}

type localStub func(in classify.Input) payload.Classification

func (l localStub) Classify(in classify.Input) payload.Classification { return l(in) }

func taken(intent string, confidence float64) payload.Classification {
	return payload.Classification{Intent: intent, Name: intent, Reason: "r", Goal: "g", Confidence: confidence, Complexity: "low", Source: payload.SourceLLM, Model: "p/m"}
}

var catalog = intents.NewCatalog([]intents.Intent{
	{ID: "CHAT", Name: "Chat", Triggers: []string{"t"}, Prompt: "Chat away."},
	{ID: "CODE", Name: "Code", Triggers: []string{"t"}, Prompt: "Write code."},
})

func settings(c *classify.Classifier) *Settings {
	return &Settings{
		Rules:      eligibility.Rules{Agents: []string{"*"}, AllowedChatTypes: []string{"direct"}},
		Catalog:    func(agent string) *intents.Catalog { return catalogOf(agent) },
		QueryMode:  conversation.ModeRecent,
		Window:     conversation.DefaultWindow(),
		Location:   time.UTC,
		Classifier: c,
	}
}

// catalogOf denies everything to the agent "mute".
func catalogOf(agent string) *intents.Catalog {
	if agent == "mute" {
		return catalog.Without([]string{"*"})
	}
	return catalog
}

func byLocal(confidence float64) *classify.Classifier {
	return classify.New(classify.ModeLocal, localStub(func(in classify.Input) payload.Classification {
		if strings.Contains(in.Latest, "code") {
			return taken("CODE", confidence)
		}
		return taken("CHAT", confidence)
	}), nil, classify.Options{})
}

func handler(r *recorder, s *Settings) *BeforePromptBuild {
	h := NewBeforePromptBuild(NewRuns(), r, 1<<20, r, quiet)
	h.Use(s)
	return h
}

func prompt(run, text string) *Request {
	event, _ := json.Marshal(map[string]any{"prompt": text, "messages": []any{
		map[string]any{"role": "user", "content": "earlier"}, map[string]any{"role": "assistant", "content": "said"},
	}})
	ctx := payload.Context{RunID: run, SessionID: "s1", SessionKey: "agent:main:telegram:direct:1", Trigger: "user", ModelProviderID: "own", ModelID: "big"}
	now := time.Now()
	return &Request{
		Envelope: payload.Envelope{Hook: subjects.HookBeforePromptBuild, Event: event, TS: 1763680000123, ID: "req-" + run},
		Context:  ctx, Received: now, Deadline: now.Add(time.Second),
	}
}

func handle(t *testing.T, h *BeforePromptBuild, req *Request) Result {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), req.Deadline)
	defer cancel()
	res, err := h.Handle(ctx, req)
	require.NoError(t, err)
	return res
}

func header(r Result, key string) string {
	if v := r.Header[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func TestAHintAndItsTurn(t *testing.T) {
	var r recorder
	h := handler(&r, settings(byLocal(0.87)))
	res := handle(t, h, prompt("r1", "  write some code "))
	require.Contains(t, res.PrependContext, "intent: CODE (Code)")
	require.Contains(t, res.PrependContext, "Write code.")
	require.Equal(t, "CODE", header(res, subjects.HeaderIntent))
	require.Equal(t, "0.87", header(res, subjects.HeaderConfidence))
	require.Equal(t, "local", header(res, subjects.HeaderSource))
	require.Regexp(t, `^\d+\.\d{3}$`, header(res, subjects.HeaderElapsedMs))
	require.Empty(t, header(res, subjects.HeaderSkip))
	require.Equal(t, []string{"local CODE"}, r.hints)

	turns := r.turns(t)
	require.Len(t, turns, 1)
	require.Equal(t, "r1", turns[0].RunID)
	require.Equal(t, "  write some code ", turns[0].Prompt)
	require.Equal(t, []payload.Turn{{Role: "user", Text: "earlier"}, {Role: "assistant", Text: "said"}}, turns[0].Conversation)
	require.Equal(t, res.PrependContext, turns[0].Hint)
	require.Equal(t, "CODE", turns[0].Result.Intent)
	require.EqualValues(t, 1763680000123, r.begun[0].TS)
	require.NotEqual(t, "req-r1", r.begun[0].ID)
}

func TestSkipsOfPolicyBeginNoTurn(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(*Request)
		want string
	}{
		{"a cron run", func(r *Request) { r.Context.Trigger = "cron" }, "not_user_trigger"},
		{"a group", func(r *Request) { r.Context.SessionKey = "agent:main:telegram:group:-1" }, "chat_type"},
		{"an empty prompt", func(r *Request) { r.Envelope.Event = []byte(`{"prompt":" <think>x</think> "}`) }, "empty_prompt"},
		{"an agent without intents", func(r *Request) { r.Context.AgentID = "mute" }, "no_intents"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			req := prompt("r1", "hello")
			row.edit(req)
			res := handle(t, handler(&r, settings(byLocal(1))), req)
			require.Empty(t, res.PrependContext)
			require.Equal(t, row.want, header(res, subjects.HeaderSkip))
			require.NotEmpty(t, header(res, subjects.HeaderElapsedMs))
			require.Empty(t, r.begun)
			require.Equal(t, []string{row.want}, r.skips)
		})
	}
}

func TestWhatHasNoSessionGetsAHintAndNoTurn(t *testing.T) {
	var r recorder
	req := prompt("r1", "hello")
	req.Context.SessionID, req.Context.SessionKey = "", ""
	req.Context.MessageProvider = "webchat"
	res := handle(t, handler(&r, settings(byLocal(1))), req)
	require.NotEmpty(t, res.PrependContext)
	require.Empty(t, r.begun)
}

func TestAnInvalidEventIsRefused(t *testing.T) {
	var r recorder
	h := handler(&r, settings(byLocal(1)))
	req := prompt("r1", "x")
	req.Envelope.Event = []byte(`{"prompt":5}`)
	res, err := h.Handle(t.Context(), req)
	require.ErrorIs(t, err, payload.ErrInvalid)
	require.NotEmpty(t, header(res, subjects.HeaderElapsedMs))
}

func TestARetryGetsTheFirstHint(t *testing.T) {
	var r recorder
	h := handler(&r, settings(byLocal(0.9)))
	first := handle(t, h, prompt("r1", "write code"))
	again := handle(t, h, prompt("r1", "Continue the current task from the existing transcript"))
	require.Equal(t, first.PrependContext, again.PrependContext)
	require.Equal(t, "cache", header(again, subjects.HeaderSource))
	require.Equal(t, "CODE", header(again, subjects.HeaderIntent))
	require.Len(t, r.begun, 1)
	require.Equal(t, []string{"local CODE", "cache CODE"}, r.hints)
	other := prompt("r1", "hello")
	other.Context.SessionID = "s2"
	require.Equal(t, "local", header(handle(t, h, other), subjects.HeaderSource), "run ids are the client's: another session is another run")
}

func TestARetryAfterAPanicIsClassifiedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		panicked := false
		h := handler(&r, settings(classify.New(classify.ModeLocal, localStub(func(classify.Input) payload.Classification {
			if !panicked {
				panicked = true
				panic("one bad table")
			}
			return taken("CODE", 0.9)
		}), nil, classify.Options{})))
		require.Panics(t, func() { _, _ = h.Handle(t.Context(), prompt("r1", "write code")) })
		began := time.Now()
		again := handle(t, h, prompt("r1", "Continue"))
		require.Equal(t, "CODE", header(again, subjects.HeaderIntent))
		require.Zero(t, time.Since(began), "it does not wait for the one that panicked")
		require.Len(t, r.turns(t), 1)
		require.Equal(t, "write code", r.turns(t)[0].Prompt)
	})
}

func TestAnotherProcessKnowsTheFirstHint(t *testing.T) {
	var a, b recorder
	first := handle(t, handler(&a, settings(byLocal(0.9))), prompt("r1", "write code"))
	body, err := json.Marshal(a.begun[0])
	require.NoError(t, err)
	other := handler(&b, settings(byLocal(0.9)))
	other.runs.Learn(body)
	again := handle(t, other, prompt("r1", "Continue"))
	require.Equal(t, first.PrependContext, again.PrependContext)
	require.Equal(t, "cache", header(again, subjects.HeaderSource))
	require.Empty(t, b.begun)
}

func TestLowConfidenceIsRepeatedAndTracked(t *testing.T) {
	var r recorder
	s := settings(byLocal(0.3))
	s.MinConfidence = 0.5
	h := handler(&r, s)
	for range 2 {
		res := handle(t, h, prompt("r1", "hello"))
		require.Empty(t, res.PrependContext)
		require.Equal(t, "low_confidence", header(res, subjects.HeaderSkip))
		require.Empty(t, header(res, subjects.HeaderIntent))
	}
	turns := r.turns(t)
	require.Len(t, turns, 1)
	require.Equal(t, "CHAT", turns[0].Result.Intent)
	require.Equal(t, []string{"low_confidence", "low_confidence"}, r.skips)
}

func TestAFailureIsClassifiedAnewWithTheFirstPrompt(t *testing.T) {
	for _, row := range []struct {
		cause error
		skip  string
	}{
		{classify.ErrFailed, "classify_failed"},
		{classify.ErrDeadline, "deadline"},
		{classify.ErrOverloaded, "overloaded"},
		{errors.New("anything"), "classify_failed"},
	} {
		t.Run(row.skip, func(t *testing.T) {
			var (
				r    recorder
				seen []string
			)
			model := &stub{}
			model.answer = func(_ context.Context, in classify.Input) (payload.Classification, error) {
				seen = append(seen, in.Latest)
				if len(seen) == 1 {
					return payload.Classification{}, row.cause
				}
				return taken("CODE", 0.9), nil
			}
			h := handler(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
			res := handle(t, h, prompt("r1", "write code"))
			require.Equal(t, row.skip, header(res, subjects.HeaderSkip))
			require.Empty(t, header(res, subjects.HeaderSource))
			require.Len(t, r.released, 1)
			res = handle(t, h, prompt("r1", "Continue the current task"))
			require.Equal(t, "llm", header(res, subjects.HeaderSource))
			require.Equal(t, "p/m", header(res, subjects.HeaderModel))
			require.Equal(t, []string{"write code", "write code"}, seen)
			turns := r.turns(t)
			require.Len(t, turns, 2)
			require.Nil(t, turns[0].Result)
			require.Equal(t, "write code", turns[1].Prompt)
			res = handle(t, h, prompt("r1", "Continue the current task"))
			require.Equal(t, "cache", header(res, subjects.HeaderSource))
		})
	}
}

func TestRequestsForOneRunAtOnceMakeOneModelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		model := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) {
			time.Sleep(300 * time.Millisecond)
			return taken("CODE", 0.9), nil
		}}
		h := handler(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			sources = map[string]int{}
		)
		for range 10 {
			wg.Go(func() {
				res := handle(t, h, prompt("r1", "write code"))
				mu.Lock()
				defer mu.Unlock()
				sources[header(res, subjects.HeaderSource)]++
			})
		}
		wg.Wait()
		require.Equal(t, map[string]int{"llm": 1, "cache": 9}, sources)
		require.EqualValues(t, 1, model.calls.Load())
		require.Len(t, r.begun, 1)
	})
}

func TestARunThatAnotherProcessClassifiesIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r, other recorder
		model := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) { return taken("CODE", 0.9), nil }}
		s := settings(classify.New(classify.ModeLLM, nil, model, classify.Options{}))
		req := prompt("r1", "write code")
		handle(t, handler(&other, s), prompt("r1", "write code"))
		body, err := json.Marshal(other.begun[0])
		require.NoError(t, err)

		r.promised = map[string]time.Time{runKey(req.Context): time.Now().Add(time.Hour)}
		h := handler(&r, s)
		time.AfterFunc(200*time.Millisecond, func() { h.runs.Learn(body) })
		res := handle(t, h, req)
		require.Equal(t, "cache", header(res, subjects.HeaderSource))
		require.EqualValues(t, 1, model.calls.Load())
		require.Empty(t, r.begun)

		// The other process is late: at the deadline there is an answer all the same.
		late := prompt("r2", "write code")
		r.promised[runKey(late.Context)] = time.Now().Add(time.Hour)
		res = handle(t, h, late)
		require.Equal(t, "deadline", header(res, subjects.HeaderSkip))
		require.EqualValues(t, 1, model.calls.Load())
		require.Len(t, r.begun, 1)

		// It died: when its promise has run out the model is asked from here.
		again := prompt("r3", "write code")
		r.promised[runKey(again.Context)] = time.Now().Add(500 * time.Millisecond)
		began := time.Now()
		res = handle(t, h, again)
		require.Equal(t, "llm", header(res, subjects.HeaderSource))
		require.Equal(t, 500*time.Millisecond+lateClaim, time.Since(began))
		require.Len(t, r.begun, 2)
	})
}

// The same as in one process, where the first one's run is begun again.
func TestTheShortDeadlineOfACallerOfAnotherProcessIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r, other recorder
		late := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) {
			return payload.Classification{}, classify.ErrDeadline
		}}
		handle(t, handler(&other, settings(classify.New(classify.ModeLLM, nil, late, classify.Options{}))), prompt("r1", "write code"))
		body, err := json.Marshal(other.begun[0])
		require.NoError(t, err)
		require.Equal(t, "deadline", other.turns(t)[0].Skip)

		model := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) { return taken("CODE", 0.9), nil }}
		h := handler(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		req := prompt("r1", "write code")
		r.promised = map[string]time.Time{runKey(req.Context): time.Now().Add(400 * time.Millisecond)}
		time.AfterFunc(400*time.Millisecond, func() { h.runs.Learn(body) })
		res := handle(t, h, req)
		require.Equal(t, "llm", header(res, subjects.HeaderSource))
		require.EqualValues(t, 1, model.calls.Load())
		require.Len(t, r.begun, 1)
	})
}

func TestAnAnswerThatCameTooLateIsNotRecorded(t *testing.T) {
	var r recorder
	h := handler(&r, settings(byLocal(0.9)))
	late := prompt("r1", "write code")
	late.fate = new(atomic.Int32)
	late.fate.Store(leftOut)
	handle(t, h, late)
	turns := r.turns(t)
	require.Len(t, turns, 1)
	require.Empty(t, turns[0].Hint)
	require.Equal(t, "deadline", turns[0].Skip)
	again := handle(t, h, prompt("r1", "Continue"))
	require.Equal(t, "local", header(again, subjects.HeaderSource), "a retry is classified anew")

	res := h.Omitted(late, ErrOverrun)
	require.Equal(t, "deadline", header(res, subjects.HeaderSkip))
	require.NotEmpty(t, header(res, subjects.HeaderElapsedMs))
	require.Equal(t, "classify_failed", header(h.Omitted(late, errors.New("panic")), subjects.HeaderSkip))
}

func TestRequestsThatWaitHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		model := &stub{answer: func(ctx context.Context, in classify.Input) (payload.Classification, error) {
			if in.Latest == "slow" {
				<-ctx.Done()
			}
			return payload.Classification{Intent: "CODE", Confidence: 1, Source: payload.SourceLLM}, ctx.Err()
		}}
		h := handler(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		queue := fair.New(1)
		answered := make(chan string, 3)
		for _, asked := range []struct{ run, prompt string }{{"waits for the model", "slow"}, {"waits for the model", "slow"}, {"quick", "quick"}} {
			require.True(t, queue.Go(t.Context(), "gateway", 1, func(ctx context.Context) {
				req := prompt(asked.run, asked.prompt)
				ctx, cancel := context.WithDeadline(ctx, req.Deadline)
				defer cancel()
				_, err := h.Handle(ctx, req)
				assert.NoError(t, err)
				answered <- asked.run
			}))
		}
		synctest.Wait()
		require.Len(t, answered, 1)
		require.Equal(t, "quick", <-answered)
		time.Sleep(time.Minute)
		require.Len(t, answered, 2)
	})
}

func TestALateModelLeavesTimeForTheReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		model := &stub{answer: func(ctx context.Context, _ classify.Input) (payload.Classification, error) {
			<-ctx.Done()
			return payload.Classification{}, ctx.Err()
		}}
		h := handler(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		req := prompt("r1", "write code")
		res := handle(t, h, req)
		require.Equal(t, "deadline", header(res, subjects.HeaderSkip))
		require.Equal(t, 980*time.Millisecond, time.Since(req.Received))
	})
}

func TestATurnTooLongForTheServerLeavesOutTheOldest(t *testing.T) {
	var r recorder
	s := settings(byLocal(1))
	s.QueryMode = conversation.ModeFull
	h := NewBeforePromptBuild(NewRuns(), &r, 8<<10, &r, quiet)
	h.Use(s)
	req := prompt("r1", "hello")
	var messages []map[string]string
	for i := range 100 {
		messages = append(messages, map[string]string{"role": "user", "content": fmt.Sprintf("%03d %s", i, strings.Repeat("x", 200))},
			map[string]string{"role": "assistant", "content": "ok"})
	}
	req.Envelope.Event, _ = json.Marshal(map[string]any{"prompt": "hello", "messages": messages})
	require.NotEmpty(t, handle(t, h, req).PrependContext)
	turn := r.turns(t)[0]
	require.NotEmpty(t, turn.Conversation)
	require.Less(t, len(turn.Conversation), 200)
	last := turn.Conversation[len(turn.Conversation)-2]
	require.True(t, strings.HasPrefix(last.Text, "099 "), last.Text)
}

func TestATurnWhosePromptIsTooLongForTheServerIsCut(t *testing.T) {
	for name, char := range map[string]string{"plain": "x", "characters of three bytes": "字", "characters that are escaped": "\"", "control characters": "\x01"} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			h := NewBeforePromptBuild(NewRuns(), &r, 64<<10, &r, quiet)
			h.Use(settings(byLocal(1)))
			req := prompt("r1", "hello "+strings.Repeat(char, 64<<10))
			require.NotEmpty(t, handle(t, h, req).PrependContext)
			require.Less(t, len(r.begun[0].Event), 63<<10)
			turn := r.turns(t)[0]
			require.True(t, strings.HasPrefix(turn.Prompt, "hello "+char), turn.Prompt)
			require.True(t, strings.HasSuffix(turn.Prompt, char+" (truncated...)"))
		})
	}
}

func TestRunsForgetTheOldest(t *testing.T) {
	runs := NewRuns()
	for i := range maxRuns + 1 {
		known, _, mine := runs.join(strconv.Itoa(i), "p")
		require.True(t, mine)
		runs.finish(strconv.Itoa(i), known, answer{hint: "h", result: &payload.Classification{}})
	}
	_, _, mine := runs.join("1", "p")
	require.False(t, mine)
	_, _, mine = runs.join("0", "p")
	require.True(t, mine)
}

func TestLongNamesOfRunsAreNotKept(t *testing.T) {
	long := payload.Context{SessionID: "s", RunID: strings.Repeat("r", 1<<20)}
	require.LessOrEqual(t, len(runKey(long)), maxRunKey)
	require.Equal(t, runKey(long), runKey(long))
	other := long
	other.SessionID = "s2"
	require.NotEqual(t, runKey(long), runKey(other))
	require.Equal(t, "s\x00r1", runKey(payload.Context{SessionID: "s", RunID: "r1"}))
	require.Empty(t, runKey(payload.Context{SessionID: "s"}))
}

// A prompt may be megabytes; only runs that may be begun again need theirs.
func TestRunsKeepFewPrompts(t *testing.T) {
	long := strings.Repeat("p", 100<<10)
	held := func(r *Runs) (n int) {
		for _, known := range r.cache.Values() {
			n += len(known.prompt)
		}
		return n
	}
	for _, row := range []struct {
		name string
		a    answer
		most int
	}{
		{"answered", answer{hint: "h", result: &payload.Classification{}}, 0},
		{"failed", answer{skip: "deadline"}, maxPrompts},
	} {
		t.Run(row.name, func(t *testing.T) {
			runs, other := NewRuns(), NewRuns()
			for i := range 1000 {
				key := strconv.Itoa(i)
				known, first, mine := runs.join(key, long)
				require.True(t, mine)
				require.Equal(t, long, first)
				runs.finish(key, known, row.a)
				other.Learn(payload.AppendTurnBegun(nil, "turn_begun", key, 1, payload.Context{RunID: key, SessionID: "s"},
					payload.TurnBegun{RunID: key, Prompt: long, Hint: row.a.hint, Skip: string(row.a.skip), Result: row.a.result}))
			}
			for _, r := range []*Runs{runs, other} {
				require.Equal(t, 1000, r.cache.Len())
				require.LessOrEqual(t, held(r), row.most)
				require.Equal(t, held(r), r.prompts)
			}
			_, first, _ := runs.join("999", "Continue")
			require.Equal(t, row.most > 0, first == long)
		})
	}
}

// A retry of a run whose first answer is late speaks for the same user.
func TestARetryThatCannotWaitHasTheFirstPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		s := settings(classify.New(classify.ModeHedged, localStub(func(in classify.Input) payload.Classification {
			if strings.Contains(in.Latest, "code") {
				return taken("CODE", 0.9)
			}
			return taken("CHAT", 0.9)
		}), &stub{answer: func(ctx context.Context, _ classify.Input) (payload.Classification, error) {
			<-ctx.Done()
			return payload.Classification{}, ctx.Err()
		}}, classify.Options{}))
		h := handler(&r, s)
		var first sync.WaitGroup
		first.Go(func() { handle(t, h, prompt("r1", "write code")) })
		synctest.Wait()
		retry := prompt("r1", "Continue the current task")
		retry.Deadline = retry.Received.Add(300 * time.Millisecond)
		res := handle(t, h, retry)
		require.Contains(t, res.PrependContext, "CODE")
		first.Wait()
	})
}

func TestTheShortDeadlineOfAnotherCallerIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		model := &stub{answer: func(ctx context.Context, _ classify.Input) (payload.Classification, error) {
			select {
			case <-ctx.Done():
				return payload.Classification{}, classify.ErrDeadline
			case <-time.After(500 * time.Millisecond):
				return taken("CODE", 0.9), nil
			}
		}}
		h := handler(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		hurried := prompt("r1", "write code")
		hurried.Deadline = hurried.Received.Add(300 * time.Millisecond)
		var first sync.WaitGroup
		first.Go(func() {
			require.Equal(t, "deadline", header(handle(t, h, hurried), subjects.HeaderSkip))
		})
		synctest.Wait()
		res := handle(t, h, prompt("r1", "write code"))
		require.Equal(t, "llm", header(res, subjects.HeaderSource))
		first.Wait()
		require.EqualValues(t, 2, model.calls.Load())
	})
}

func TestATurnBeginsWhenItsHintIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		model := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) {
			time.Sleep(700 * time.Millisecond)
			return taken("CODE", 0.9), nil
		}}
		h := handler(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		req := prompt("r1", "write code")
		req.Envelope.TS = 0
		handle(t, h, req)
		require.Equal(t, req.Received.UnixMilli(), r.begun[0].TS)
	})
}

// Each request is counted once, also when its handler was left out and comes to
// an end later.
func TestALateHandlerIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		s := settings(classify.New(classify.ModeLocal, localStub(func(classify.Input) payload.Classification {
			time.Sleep(5 * time.Second)
			return taken("CODE", 0.9)
		}), nil, classify.Options{}))
		h := handler(&r, s)
		runner := NewRunner(func(string) time.Duration { return 0 }, quiet)
		runner.On(subjects.HookBeforePromptBuild, "hint", 0, h.Handle, h.Omitted)
		for _, text := range []string{"write code", "write code once more"} { // the second one waits for the first
			go runner.Run(t.Context(), prompt("r1", text), func(Result, error) {})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"deadline", "deadline"}, r.skips)
		require.Empty(t, r.hints)
	})
}

func BenchmarkHandleLocal(b *testing.B) {
	var r recorder
	h := handler(&r, settings(byLocal(0.9)))
	h.bus = discard{}
	h.observer = discard{}
	req := prompt("", "write some code")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Handle(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) TurnBegun(_, _, _, _ string, _ []byte)              {}
func (discard) Claim(context.Context, string, time.Time) time.Time { return time.Time{} }
func (discard) Release(context.Context, string)                    {}
func (discard) Hint(string, string, time.Duration)                 {}
func (discard) Skip(eligibility.Skip, time.Duration)               {}
func (discard) BadRequest()                                        {}
func (discard) Classified(string, time.Duration)                   {}

func TestAKeptAnswerIsWholeAgain(t *testing.T) {
	const tail = "\n\nThe user wants a judgement.\ncomplexity: is named here, too\n</intention_hint_plugin>"
	for name, hint := range map[string]string{
		"no hint":               "",
		"a hint":                "intent: A (A)\ncomplexity: low" + tail,
		"the same for another":  "intent: A (A)\nreason: other\ncomplexity: low" + tail,
		"nothing follows":       "intent: A (A)\ncomplexity: low",
		"another program's":     "a hint of some other shape",
		"nothing but that line": "\ncomplexity: ",
	} {
		t.Run(name, func(t *testing.T) {
			a := answer{hint: hint, skip: eligibility.LowConfidence, result: &payload.Classification{Intent: "A"}}
			k := keep(a)
			require.Equal(t, a, k.whole())
			require.Equal(t, a.final(), k.final())
			if strings.HasSuffix(hint, tail) {
				require.Equal(t, unique.Make(tail), k.tail)
			}
		})
	}
}
