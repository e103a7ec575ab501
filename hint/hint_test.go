package hint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/hint/run"
	"intenthint/intents"
	"intenthint/internal/bus"
	"intenthint/internal/hook"
	"intenthint/internal/natsserver"
	"intenthint/model"
	"intenthint/payload"
	"intenthint/subjects"
)

// recorder takes the turns of a hinter under test.
type recorder struct {
	mu    sync.Mutex
	begun []payload.Envelope
}

func (r *recorder) Publish(m *nats.Msg) {
	env, err := payload.DecodeRequest(m.Data)
	if err != nil {
		panic(err)
	}
	var raw struct{ TS int64 }
	if err := json.Unmarshal(m.Data, &raw); err != nil {
		panic(err)
	}
	env.TS = raw.TS // a bubble's clock stands at 2000, before any event's
	if env.ID != m.Header.Get(subjects.HeaderMsgID) || !strings.HasPrefix(m.Subject, "openclaw.event.turn_begun.main.s") {
		panic(fmt.Sprint("a turn that contradicts itself: ", m.Subject, env.ID, m.Header))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = append(r.begun, env)
}

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

// counted are the series of a counter or a histogram of the hinter that were
// counted at all, as "label values": how often.
func counted(t *testing.T, h *Hinter, name string) map[string]int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(h.Metrics.hints, h.Metrics.skips, h.Metrics.badRequests, h.Metrics.requests, h.Metrics.classifiers, h.Metrics.confidence, h.Metrics.skills, h.Metrics.writes, h.Metrics.writing)
	families, err := registry.Gather()
	require.NoError(t, err)
	out := map[string]int{}
	for _, family := range families {
		if family.GetName() != "intenthint_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if n := int(m.GetCounter().GetValue()) + int(m.GetHistogram().GetSampleCount()); n > 0 {
				out[strings.Join(labels, " ")] = n
			}
		}
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

func hinter(r *recorder, s *Settings) *Hinter {
	h := New(Options{
		Answers: run.NewAnswers(quiet), Publisher: r, Prefix: "openclaw", MaxPayload: 1 << 20,
		Log: quiet,
	})
	h.Use(s)
	return h
}

var quiet = slog.New(slog.DiscardHandler)

func prompt(run, text string) *hook.Request {
	event, _ := json.Marshal(map[string]any{"prompt": text, "messages": []any{
		map[string]any{"role": "user", "content": "earlier"}, map[string]any{"role": "assistant", "content": "said"},
	}})
	ctx := payload.Context{RunID: run, SessionID: "s1", SessionKey: "agent:main:telegram:direct:1", Trigger: "user", ModelProviderID: "own", ModelID: "big"}
	now := time.Now()
	return &hook.Request{
		Envelope: payload.Envelope{Hook: subjects.HookBeforePromptBuild, Event: event, TS: 1763680000123, ID: "req-" + run},
		Context:  ctx, Received: now, Deadline: now.Add(time.Second),
	}
}

func handle(t *testing.T, h *Hinter, req *hook.Request) hook.Result {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), req.Deadline)
	defer cancel()
	res, err := h.handle(ctx, req)
	require.NoError(t, err)
	return res
}

// text is the hint of a result, "" for none.
func given(r hook.Result) string {
	p, _ := r.Decision.(hook.PrependContext)
	return p.Text
}

func head(r hook.Result, key string) string {
	if v := r.Header[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func TestAHintAndItsTurn(t *testing.T) {
	var r recorder
	h := hinter(&r, settings(byLocal(0.87)))
	res := handle(t, h, prompt("r1", "  write some code "))
	require.Contains(t, given(res), "intent: CODE (Code)")
	require.Contains(t, given(res), "Write code.")
	require.Equal(t, "CODE", head(res, subjects.HeaderIntent))
	require.Equal(t, "0.87", head(res, subjects.HeaderConfidence))
	require.Equal(t, "local", head(res, subjects.HeaderSource))
	require.Regexp(t, `^\d+\.\d{3}$`, head(res, subjects.HeaderElapsedMs))
	require.Empty(t, head(res, subjects.HeaderSkip))
	require.Equal(t, map[string]int{"CODE local": 1}, counted(t, h, "hints_total"))
	require.Equal(t, map[string]int{"hint": 1}, counted(t, h, "request_duration_seconds"))
	require.Equal(t, map[string]int{"local": 1}, counted(t, h, "hint_confidence"))

	turns := r.turns(t)
	require.Len(t, turns, 1)
	require.Equal(t, "r1", turns[0].RunID)
	require.Equal(t, "  write some code ", turns[0].Prompt)
	require.Equal(t, []payload.Turn{{Role: "user", Text: "earlier"}, {Role: "assistant", Text: "said"}}, turns[0].Conversation)
	require.Equal(t, given(res), turns[0].Hint)
	require.Equal(t, "CODE", turns[0].Result.Intent)
	require.EqualValues(t, 1763680000123, r.begun[0].TS)
	require.NotEqual(t, "req-r1", r.begun[0].ID)
}

func TestSkipsOfPolicyBeginNoTurn(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(*hook.Request)
		want string
	}{
		{"a cron run", func(r *hook.Request) { r.Context.Trigger = "cron" }, "not_user_trigger"},
		{"a group", func(r *hook.Request) { r.Context.SessionKey = "agent:main:telegram:group:-1" }, "chat_type"},
		{"an empty prompt", func(r *hook.Request) { r.Envelope.Event = []byte(`{"prompt":" <think>x</think> "}`) }, "empty_prompt"},
		{"an agent without intents", func(r *hook.Request) { r.Context.AgentID = "mute" }, "no_intents"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			req := prompt("r1", "hello")
			row.edit(req)
			h := hinter(&r, settings(byLocal(1)))
			res := handle(t, h, req)
			require.Empty(t, given(res))
			require.Equal(t, row.want, head(res, subjects.HeaderSkip))
			require.NotEmpty(t, head(res, subjects.HeaderElapsedMs))
			require.Empty(t, r.begun)
			require.Equal(t, map[string]int{"policy " + row.want: 1}, counted(t, h, "skips_total"))
			require.Equal(t, map[string]int{"policy": 1}, counted(t, h, "request_duration_seconds"))
		})
	}
}

// The turn of a request that got no answer is the one that an answer begins.
func TestBeginDecidesAsARequestDoes(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(*hook.Request, *Settings)
	}{
		{"a direct chat", func(*hook.Request, *Settings) {}},
		{"a cron run", func(r *hook.Request, _ *Settings) { r.Context.Trigger = "cron" }},
		{"a group", func(r *hook.Request, _ *Settings) { r.Context.SessionKey = "agent:main:telegram:group:-1" }},
		{"an agent without intents", func(r *hook.Request, _ *Settings) { r.Context.AgentID = "mute" }},
		{"an empty prompt", func(r *hook.Request, _ *Settings) { r.Envelope.Event = []byte(`{"prompt":" <think>x</think> "}`) }},
		{"no history", func(_ *hook.Request, s *Settings) { s.QueryMode = conversation.ModeMessage }},
		{"a small window", func(_ *hook.Request, s *Settings) { s.Window.User.Turns = 0 }},
		{"the latest message in the history", func(r *hook.Request, _ *Settings) {
			r.Envelope.Event = []byte(`{"prompt":"now","messages":[{"role":"user","content":"then"},{"role":"assistant","content":"yes"},{"role":"user","content":"now"}]}`)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			s, req := settings(byLocal(1)), prompt("r1", "hello")
			row.edit(req, s)
			handle(t, hinter(&r, s), req)
			event, err := payload.DecodeBeforePromptBuild(req.Envelope.Event)
			require.NoError(t, err)
			s.Classifier = nil
			before, ok := s.Begin(req.Context, event)
			turns := r.turns(t)
			require.Equal(t, len(turns) == 1, ok)
			if ok {
				require.Equal(t, turns[0].Conversation, before)
				require.Equal(t, turns[0].Prompt, event.Prompt)
			}
		})
	}
}

func TestWhatHasNoSessionGetsAHintAndNoTurn(t *testing.T) {
	var r recorder
	req := prompt("r1", "hello")
	req.Context.SessionID, req.Context.SessionKey = "", ""
	req.Context.MessageProvider = "webchat"
	res := handle(t, hinter(&r, settings(byLocal(1))), req)
	require.NotEmpty(t, given(res))
	require.Empty(t, r.begun)
}

func TestAnInvalidEventIsRefused(t *testing.T) {
	var r recorder
	h := hinter(&r, settings(byLocal(1)))
	req := prompt("r1", "x")
	req.Envelope.Event = []byte(`{"prompt":5}`)
	res, err := h.handle(t.Context(), req)
	require.ErrorIs(t, err, payload.ErrInvalid)
	require.NotEmpty(t, head(res, subjects.HeaderElapsedMs))
}

func TestARetryGetsTheFirstHint(t *testing.T) {
	var r recorder
	h := hinter(&r, settings(byLocal(0.9)))
	first := handle(t, h, prompt("r1", "write code"))
	again := handle(t, h, prompt("r1", "Continue the current task from the existing transcript"))
	require.Equal(t, given(first), given(again))
	require.Equal(t, "cache", head(again, subjects.HeaderSource))
	require.Equal(t, "CODE", head(again, subjects.HeaderIntent))
	require.Len(t, r.begun, 1)
	require.Equal(t, map[string]int{"CODE local": 1, "CODE cache": 1}, counted(t, h, "hints_total"))
	other := prompt("r1", "hello")
	other.Context.SessionID = "s2"
	require.Equal(t, "local", head(handle(t, h, other), subjects.HeaderSource), "run ids are the client's: another session is another run")
}

func TestARetryAfterAPanicIsClassifiedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		panicked := false
		h := hinter(&r, settings(classify.New(classify.ModeLocal, localStub(func(classify.Input) payload.Classification {
			if !panicked {
				panicked = true
				panic("one bad table")
			}
			return taken("CODE", 0.9)
		}), nil, classify.Options{})))
		require.Panics(t, func() { _, _ = h.handle(t.Context(), prompt("r1", "write code")) })
		began := time.Now()
		again := handle(t, h, prompt("r1", "Continue"))
		require.Equal(t, "CODE", head(again, subjects.HeaderIntent))
		require.Zero(t, time.Since(began), "it does not wait for the one that panicked")
		require.Len(t, r.turns(t), 1)
		require.Equal(t, "write code", r.turns(t)[0].Prompt)
	})
}

func TestAnotherProcessKnowsTheFirstHint(t *testing.T) {
	var a, b recorder
	first := handle(t, hinter(&a, settings(byLocal(0.9))), prompt("r1", "write code"))
	body, err := json.Marshal(a.begun[0])
	require.NoError(t, err)
	other := hinter(&b, settings(byLocal(0.9)))
	other.Answers.Learn(body)
	again := handle(t, other, prompt("r1", "Continue"))
	require.Equal(t, given(first), given(again))
	require.Equal(t, "cache", head(again, subjects.HeaderSource))
	require.Empty(t, b.begun)
}

// What is stored and logged of a turn is redacted. The model, the gateway and the
// other processes get it as it is.
func TestTurnsAreRedacted(t *testing.T) {
	const mail = "alice@example.com"
	var asked classify.Input
	c := classify.New(classify.ModeLLM, nil, &stub{answer: func(_ context.Context, in classify.Input) (payload.Classification, error) {
		asked = in
		out := taken("CHAT", 0.9)
		out.Reason, out.Goal, out.Suggestion = "r "+mail, "g "+mail, "s "+mail
		return out, nil
	}}, classify.Options{})
	for _, row := range []struct {
		name   string
		redact bool
		want   string
	}{
		{"off", false, mail},
		{"strict", true, "[EMAIL]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var r recorder
			var log bytes.Buffer
			s := settings(c)
			s.Redact = row.redact
			h, told := hinterWithPeer(t, &r, s)
			h.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			req := prompt("r1", "write to "+mail)
			req.Envelope.Event = bytes.ReplaceAll(req.Envelope.Event, []byte("earlier"), []byte("I am "+mail))
			res := handle(t, h, req)
			require.Contains(t, given(res), "goal: g "+mail)
			require.Equal(t, "write to "+mail, asked.Latest)
			require.Equal(t, "I am "+mail, asked.Conversation[0].Text)

			turn := r.turns(t)[0]
			require.Equal(t, "write to "+row.want, turn.Prompt)
			require.Equal(t, "I am "+row.want, turn.Conversation[0].Text)
			require.Equal(t, []string{"r " + row.want, "g " + row.want, "s " + row.want}, []string{turn.Result.Reason, turn.Result.Goal, turn.Result.Suggestion})
			require.Contains(t, turn.Hint, "goal: g "+row.want)
			require.Equal(t, row.redact, !strings.Contains(string(r.begun[0].Event), mail))
			require.Contains(t, log.String(), "write to "+row.want)
			require.Equal(t, row.redact, !strings.Contains(log.String(), mail))

			again := handle(t, h, prompt("r1", "Continue"))
			require.Equal(t, given(res), given(again))
			require.Contains(t, string(<-told), "g "+mail, "a retry has the same hint in every process")
		})
	}
}

// A prompt of megabytes that is slow to redact is answered in time, and stored cut.
func TestRedactingAPromptOfMegabytesIsBounded(t *testing.T) {
	for _, row := range []struct{ name, repeated string }{{"homes", "/home/"}, {"session cookies", "sessionid="}, {"numbers in parentheses", "(1)"}} {
		t.Run(row.name, func(t *testing.T) {
			text := "begin " + strings.Repeat(row.repeated, 8<<20/len(row.repeated)) + " write to alice@example.com"
			var r recorder
			s := settings(byLocal(0.9))
			s.Redact, s.QueryMode = true, conversation.ModeFull
			h := hinter(&r, s)
			req := prompt("r1", text)
			req.Envelope.Event = bytes.ReplaceAll(req.Envelope.Event, []byte("earlier"), []byte(text))
			req.Deadline = req.Received.Add(time.Minute)
			require.NotEmpty(t, given(handle(t, h, req)))
			turn := r.turns(t)[0]
			for _, stored := range []string{turn.Prompt, turn.Conversation[0].Text} {
				require.LessOrEqual(t, len(stored), 4*conversation.MaxStored)
				require.True(t, strings.HasPrefix(stored, "begin "))
				require.True(t, strings.HasSuffix(stored, " write to [EMAIL]"))
			}
		})
	}
}

// hinterWithPeer returns a hinter and what it tells the other processes.
func hinterWithPeer(t *testing.T, r *recorder, s *Settings) (h *Hinter, told <-chan []byte) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: server.RANDOM_PORT, DataDir: t.TempDir()}, Log: quiet})
	require.NoError(t, err)
	t.Cleanup(b.Close)
	other, err := b.Another(t.Context(), "peer")
	require.NoError(t, err)
	t.Cleanup(other.Close)
	messages := make(chan []byte, 10)
	_, err = run.Listen(other.NC, "runs", func(m []byte) { messages <- m })
	require.NoError(t, err)
	require.NoError(t, other.NC.Flush())
	h = hinter(r, s)
	peers, err := run.Listen(b.NC, "runs", func([]byte) {})
	require.NoError(t, err)
	require.NoError(t, b.NC.Flush())
	h.Answers.Join(peers)
	return h, messages
}

func TestLowConfidenceIsRepeatedAndTracked(t *testing.T) {
	var r recorder
	s := settings(byLocal(0.3))
	s.MinConfidence = 0.5
	h := hinter(&r, s)
	for range 2 {
		res := handle(t, h, prompt("r1", "hello"))
		require.Empty(t, given(res))
		require.Equal(t, "low_confidence", head(res, subjects.HeaderSkip))
		require.Empty(t, head(res, subjects.HeaderIntent))
	}
	turns := r.turns(t)
	require.Len(t, turns, 1)
	require.Equal(t, "CHAT", turns[0].Result.Intent)
	require.Equal(t, map[string]int{"unsure low_confidence": 2}, counted(t, h, "skips_total"))
	require.Equal(t, map[string]int{"unsure": 2}, counted(t, h, "request_duration_seconds"), "an answer is no failure")
	require.Equal(t, map[string]int{"local": 1}, counted(t, h, "hint_confidence"), "a repeated answer is not a classification")
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
			h := hinter(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
			res := handle(t, h, prompt("r1", "write code"))
			require.Equal(t, row.skip, head(res, subjects.HeaderSkip))
			require.Empty(t, head(res, subjects.HeaderSource))
			res = handle(t, h, prompt("r1", "Continue the current task"))
			require.Equal(t, "llm", head(res, subjects.HeaderSource))
			require.Equal(t, "p/m", head(res, subjects.HeaderModel))
			require.Equal(t, []string{"write code", "write code"}, seen)
			turns := r.turns(t)
			require.Len(t, turns, 2)
			require.Nil(t, turns[0].Result)
			require.Equal(t, "write code", turns[1].Prompt)
			res = handle(t, h, prompt("r1", "Continue the current task"))
			require.Equal(t, "cache", head(res, subjects.HeaderSource))
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
		h := hinter(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
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
				sources[head(res, subjects.HeaderSource)]++
			})
		}
		wg.Wait()
		require.Equal(t, map[string]int{"llm": 1, "cache": 9}, sources)
		require.EqualValues(t, 1, model.calls.Load())
		require.Len(t, r.begun, 1)
	})
}

func TestOneGatewayLeavesOthersTheirShareOfTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) {
			time.Sleep(300 * time.Millisecond)
			return taken("CODE", 0.9), nil
		}}
		h := hinter(&recorder{}, settings(classify.New(classify.ModeLLM, nil, slow, classify.Options{Limit: model.NewLimit(4)})))
		asked := 0
		ask := func(caller string, n int) (refused *atomic.Int32) {
			refused = &atomic.Int32{}
			for range n {
				asked++
				req := prompt(fmt.Sprint("r", asked), "write code")
				req.Caller = caller
				go func() {
					if head(handle(t, h, req), subjects.HeaderSkip) == "overloaded" {
						refused.Add(1)
					}
				}()
			}
			synctest.Wait()
			return refused
		}
		require.EqualValues(t, 2, ask("flood", 6).Load(), "alone it may have all places")
		require.EqualValues(t, 1, ask("calm", 1).Load())
		time.Sleep(time.Second)
		require.EqualValues(t, 4, ask("flood", 6).Load())
		require.Zero(t, ask("calm", 1).Load())
		time.Sleep(time.Second)
	})
}

func TestALateModelLeavesTimeForTheReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		model := &stub{answer: func(ctx context.Context, _ classify.Input) (payload.Classification, error) {
			<-ctx.Done()
			return payload.Classification{}, ctx.Err()
		}}
		h := hinter(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		req := prompt("r1", "write code")
		res := handle(t, h, req)
		require.Equal(t, "deadline", head(res, subjects.HeaderSkip))
		require.Equal(t, 980*time.Millisecond, time.Since(req.Received))
	})
}

func TestATurnTooLongForTheServerLeavesOutTheOldest(t *testing.T) {
	var r recorder
	s := settings(byLocal(1))
	s.QueryMode = conversation.ModeFull
	h := hinter(&r, settings(byLocal(1)))
	h.MaxPayload = 8 << 10
	h.Use(s)
	req := prompt("r1", "hello")
	var messages []map[string]string
	for i := range 100 {
		messages = append(messages, map[string]string{"role": "user", "content": fmt.Sprintf("%03d %s", i, strings.Repeat("x", 200))},
			map[string]string{"role": "assistant", "content": "ok"})
	}
	req.Envelope.Event, _ = json.Marshal(map[string]any{"prompt": "hello", "messages": messages})
	require.NotEmpty(t, given(handle(t, h, req)))
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
			h := hinter(&r, settings(byLocal(1)))
			h.MaxPayload = 24 << 10
			h.Use(settings(byLocal(1)))
			req := prompt("r1", "hello "+strings.Repeat(char, 24<<10))
			require.NotEmpty(t, given(handle(t, h, req)))
			require.Less(t, len(r.begun[0].Event), 23<<10)
			turn := r.turns(t)[0]
			require.True(t, strings.HasPrefix(turn.Prompt, "hello "+char), turn.Prompt)
			require.True(t, strings.HasSuffix(turn.Prompt, char+" (truncated...)"))
		})
	}
}

func TestAHintTooLargeForTheServerIsSaidInBrief(t *testing.T) {
	const most = 256 << 10
	for _, row := range []struct {
		name, prompt string
		brief        bool
	}{
		{"small", "Write code.", false},
		{"just small enough", strings.Repeat("x", most-8<<10), false},
		{"too large", strings.Repeat("x", most), true},
		{"too large as JSON", strings.Repeat(`"\`, most/4+1), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var (
				r   recorder
				log bytes.Buffer
			)
			s := repeating()
			own := intents.NewCatalog([]intents.Intent{{ID: "CODE", Name: "Code", Triggers: []string{"t"}, Prompt: row.prompt}})
			s.Catalog = func(string) *intents.Catalog { return own }
			h := hinter(&r, s)
			h.MaxPayload, h.Log = most, slog.New(slog.NewTextHandler(&log, nil))
			hint := given(handle(t, h, prompt("r1", "code "+strings.Repeat("y", most))))
			require.Contains(t, hint, "intent: CODE")
			require.Equal(t, row.brief, len(hint) <= 400 && !strings.Contains(hint, row.prompt), len(hint))
			require.LessOrEqual(t, len(payload.JSON(hook.PrependContext{Text: hint})), most-4<<10)
			r.mu.Lock()
			require.Len(t, r.begun, 1)
			require.LessOrEqual(t, len(r.begun[0].Event), most-1<<10)
			r.mu.Unlock()
			require.Equal(t, hint, r.turns(t)[0].Hint)
			require.Equal(t, row.brief, log.Len() > 0)
			if row.brief {
				require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
				require.Regexp(t, `level=WARN .*intent=CODE bytes=\d{6} max_payload=262144`, log.String())
			}
			require.Equal(t, []string{known}, skips(t, h, 2, "code"))
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
		h := hinter(&r, s)
		var first sync.WaitGroup
		first.Go(func() { handle(t, h, prompt("r1", "write code")) })
		synctest.Wait()
		retry := prompt("r1", "Continue the current task")
		retry.Deadline = retry.Received.Add(300 * time.Millisecond)
		res := handle(t, h, retry)
		require.Contains(t, given(res), "CODE")
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
		h := hinter(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		hurried := prompt("r1", "write code")
		hurried.Deadline = hurried.Received.Add(300 * time.Millisecond)
		var first sync.WaitGroup
		first.Go(func() {
			require.Equal(t, "deadline", head(handle(t, h, hurried), subjects.HeaderSkip))
		})
		synctest.Wait()
		res := handle(t, h, prompt("r1", "write code"))
		require.Equal(t, "llm", head(res, subjects.HeaderSource))
		first.Wait()
		require.EqualValues(t, 2, model.calls.Load())
	})
}

func TestATurnBeginsWhenItsHintIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(2 * 366 * 24 * time.Hour) // from the year 2000 into the times of contract §3
		var r recorder
		model := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) {
			time.Sleep(700 * time.Millisecond)
			return taken("CODE", 0.9), nil
		}}
		h := hinter(&r, settings(classify.New(classify.ModeLLM, nil, model, classify.Options{})))
		req := prompt("r1", "write code")
		req.Envelope.TS = 0
		handle(t, h, req)
		require.Equal(t, req.Received.UnixMilli(), r.begun[0].TS)
	})
}

func BenchmarkHandleLocal(b *testing.B) {
	var r recorder
	h := hinter(&r, settings(byLocal(0.9)))
	h.Publisher = discard{}
	req := prompt("", "write some code")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.handle(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Publish(*nats.Msg) {}

// Each request is counted once, and its turn begins without a hint, when its
// handler overran.
func TestALateHandlerIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		slow := true
		s := settings(classify.New(classify.ModeLocal, localStub(func(classify.Input) payload.Classification {
			if slow {
				time.Sleep(5 * time.Second)
			}
			return taken("CODE", 0.9)
		}), nil, classify.Options{}))
		h := hinter(&r, s)
		runner := hook.NewRunner(hook.Hook{Name: subjects.HookBeforePromptBuild, Handlers: []hook.Handler{h.Handler()}}, hook.Options{
			Timeout: func() time.Duration { return time.Second }, Budget: func(string) time.Duration { return 0 }, Log: quiet,
		})
		for _, words := range []string{"write code", "write code once more"} { // the second one waits for the first
			req := prompt("r1", words)
			req.Envelope.Ctx, _ = json.Marshal(req.Context)
			body, err := json.Marshal(req.Envelope)
			require.NoError(t, err)
			go runner.Answer(t.Context(), bus.Request{Data: body, Received: time.Now()}, func(reply bus.Reply) {
				require.Equal(t, "{}", string(reply.Body))
				require.Equal(t, "deadline", reply.Header.Get(subjects.HeaderSkip))
				require.NotEmpty(t, reply.Header.Get(subjects.HeaderElapsedMs))
			})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, map[string]int{"failure deadline": 2}, counted(t, h, "skips_total"))
		require.Empty(t, counted(t, h, "hints_total"))
		turns := r.turns(t)
		require.Len(t, turns, 1)
		require.Empty(t, turns[0].Hint)
		require.Equal(t, "deadline", turns[0].Skip)
		slow = false
		require.Equal(t, "local", head(handle(t, h, prompt("r1", "Continue")), subjects.HeaderSource), "a retry is classified anew")
	})
}

func TestAHandlerThatFailedHasItsDiagnostics(t *testing.T) {
	h := hinter(&recorder{}, settings(byLocal(1)))
	res := h.omitted(prompt("r1", "x"), errors.New("panic"))
	require.Equal(t, "classify_failed", head(res, subjects.HeaderSkip))
	require.NotEmpty(t, head(res, subjects.HeaderElapsedMs))
	require.Equal(t, map[string]int{"failure classify_failed": 1}, counted(t, h, "skips_total"))
}

func TestRequestsThatAreNotBegun(t *testing.T) {
	h := hinter(&recorder{}, settings(byLocal(1)))
	require.Equal(t, map[string][]string{"Hint-Skip": {"overloaded"}, "Hint-Elapsed-Ms": {"1.500"}}, h.Unasked(hook.ErrOverloaded, 1500*time.Microsecond))
	require.Equal(t, map[string][]string{"Hint-Elapsed-Ms": {"1.500"}}, h.Unasked(payload.ErrInvalid, 1500*time.Microsecond))
	require.Equal(t, map[string]int{"failure overloaded": 1}, counted(t, h, "skips_total"))
	require.Equal(t, map[string]int{"": 1}, counted(t, h, "bad_requests_total"))
}

// Names of intents come from operators' files and agents' messages.
func TestIntentsAreABoundedLabel(t *testing.T) {
	h := hinter(&recorder{}, settings(byLocal(1)))
	for i := range 2 * maxIntents {
		h.Metrics.Hinted("local", fmt.Sprintf("I%d", i), time.Millisecond)
	}
	require.Len(t, counted(t, h, "hints_total"), maxIntents+1)
}

func TestMetricsHoldToTheRulesOfNaming(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := New(Options{Answers: run.NewAnswers(quiet), Publisher: &recorder{}, Prefix: "openclaw", Metrics: NewMetrics(registry), Log: quiet})
	h.Use(settings(byLocal(1)))
	handle(t, h, prompt("r1", "write code"))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestCascadeAsksTheLocalClassifierOnce(t *testing.T) {
	for _, confidence := range []float64{0.5, 0.95} {
		asked := 0
		local := localStub(func(classify.Input) payload.Classification {
			asked++
			return taken("CODE", confidence)
		})
		model := &stub{answer: func(context.Context, classify.Input) (payload.Classification, error) { return taken("CHAT", 0.9), nil }}
		h := hinter(&recorder{}, settings(classify.New(classify.ModeCascade, local, model, classify.Options{LocalAccept: 0.9})))
		handle(t, h, prompt("r1", "write code"))
		require.Equal(t, 1, asked)
	}
}
