package triage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/internal/hook"
	"intenthint/internal/natstest"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/subjects"
	"intenthint/triage/state"
)

// scripted is a model that answers by a function, and the requests that it got.
type scripted struct {
	answer func(ctx context.Context, req provider.Request) (string, error)

	mu   sync.Mutex
	seen []provider.Request
}

func says(answer string) *scripted {
	return &scripted{answer: func(context.Context, provider.Request) (string, error) { return answer, nil }}
}

func (m *scripted) Resolve(string) (provider.Completer, error) { return m, nil }

func (m *scripted) Complete(ctx context.Context, req provider.Request) (provider.Completion, error) {
	m.mu.Lock()
	m.seen = append(m.seen, req)
	m.mu.Unlock()
	text, err := m.answer(ctx, req)
	return provider.Completion{Text: text, Usage: provider.Usage{InputTokens: 100, OutputTokens: 2}}, err
}

func (m *scripted) requests() []provider.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

func settings(m model.Resolver) *Settings {
	return &Settings{
		Asked: part.Asked{Chain: model.NewChain(m, model.Options{}, "mock/small")}, Limit: model.NewLimit(100),
		Threshold: 5, Quiet: QuietGroups{Per: time.Hour}, Examples: 6, Recall: 10, MaxTokens: 10,
	}
}

// buckets are those of the tests.
var buckets = state.Buckets{
	Decisions: jetstream.KeyValueConfig{Bucket: "T_TRIAGE"}, Recent: jetstream.KeyValueConfig{Bucket: "T_RECENT", TTL: time.Hour},
	Marks: jetstream.KeyValueConfig{Bucket: "T_MARKS"},
}

func store(t *testing.T, ns *server.Server) *state.Store {
	t.Helper()
	return state.New(natstest.JetStream(t, ns), buckets)
}

// process is a gate with a state of its own connection.
func process(t *testing.T, ns *server.Server, set *Settings) *Gate {
	t.Helper()
	g := New(Options{State: store(t, ns), Log: slog.New(slog.DiscardHandler)})
	g.Use(set)
	return g
}

// event is that of a message in a group.
func event(id, text string, more ...any) map[string]any {
	out := map[string]any{"messageId": id, "content": text, "sessionKey": groupKey, "senderId": "555", "isGroup": true, "timestamp": 1795215559000}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

const budget = time.Minute // for a busy machine

func requestOf(e map[string]any) *hook.Request {
	raw, _ := json.Marshal(e)
	now := time.Now()
	return &hook.Request{
		Envelope: payload.Envelope{Hook: subjects.HookBeforeDispatch, Event: raw, Ctx: json.RawMessage(`{"agentName":"Claw"}`)},
		Received: now, Deadline: now.Add(budget), Margin: time.Second,
	}
}

// reply is what a gateway is told: the headers Triage-Decision and Triage-Reason,
// and the others that have a value.
func decide(t *testing.T, g *Gate, req *hook.Request) (reply string, header map[string][]string) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), req.Deadline)
	defer cancel()
	res, err := g.Handler().Handle(ctx, req)
	require.NoError(t, err)
	decision := res.Header[HeaderDecision][0]
	require.Equal(t, decision == state.Skip, res.Decision == hook.Decision(hook.Handled{}))
	require.NotEmpty(t, res.Header[HeaderElapsedMs][0])
	return decision + " " + res.Header[HeaderReason][0], res.Header
}

func ask(t *testing.T, g *Gate, e map[string]any) string {
	t.Helper()
	reply, _ := decide(t, g, requestOf(e))
	return reply
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	for i, row := range []struct {
		name, answer string
		change       func(s *Settings)
		event        map[string]any
		want         string
		asked        int
	}{
		{"the model skips", "SKIP", nil, event("", "lunch at noon"), "skip model", 1},
		{"the model responds", "RESPOND", nil, event("", "lunch at noon"), "respond model", 1},
		{"the model says something else", "perhaps", nil, event("", "lunch at noon"), "respond model", 1},
		{"a low score", "4", func(s *Settings) { s.Scores = true }, event("", "lunch at noon"), "skip model", 1},
		{"a score at the threshold", "5", func(s *Settings) { s.Scores = true }, event("", "lunch at noon"), "respond model", 1},
		{"too short", "", nil, event("", "k"), "skip too_short", 0},
		{"the name", "", nil, event("", "hi CLAW"), "respond bot_name", 0},
		{"a keyword", "", func(s *Settings) { s.Keywords = []string{"noon"} }, event("", "lunch at Noon"), "respond keyword", 0},
		{"quiet", "", func(s *Settings) { s.Quiet.Messages = 1 }, event("", "lunch at noon", "sessionKey", "agent:main:group:q"), "respond quiet", 0},
		{"direct", "", nil, event("", "lunch at noon", "isGroup", false), "respond direct", 0},
		{"the trained gate is sure", "", func(s *Settings) { s.Local = sureGate{sure: true} }, event("", "lunch at noon"), "skip local", 0},
		{"the trained gate is not sure", "RESPOND", func(s *Settings) { s.Local = sureGate{} }, event("", "lunch at noon"), "respond model", 1},
		{"no model", "", func(s *Settings) { s.Asked = part.Asked{} }, event("", "lunch at noon"), "respond model", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := says(row.answer)
			set := settings(m)
			if row.change != nil {
				row.change(set)
			}
			row.event["messageId"] = fmt.Sprint("m", i)
			reply, header := decide(t, process(t, ns, set), requestOf(row.event))
			require.Equal(t, row.want, reply)
			require.Len(t, m.requests(), row.asked)
			if row.asked > 0 {
				require.Equal(t, []string{"mock/small"}, header[HeaderModel])
			} else {
				require.NotContains(t, header, HeaderModel)
			}
			if set.Scores {
				require.Equal(t, []string{row.answer}, header[HeaderScore])
			} else {
				require.NotContains(t, header, HeaderScore)
			}
		})
	}
}

// sureGate is a trained gate that skips everything.
type sureGate struct{ sure bool }

func (l sureGate) Judge(in LocalInput) (respond, sure bool) {
	if in.Text == "" || in.Sender == "" || in.BotName == "" || in.Group == "" {
		panic("a field is missing")
	}
	return false, l.sure
}

func TestWhatFailsResponds(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	hang := func(ctx context.Context, _ provider.Request) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	for i, row := range []struct {
		name   string
		model  *scripted
		change func(s *Settings)
		within time.Duration
	}{
		{"an error", &scripted{answer: func(context.Context, provider.Request) (string, error) { return "", errors.New("500") }}, nil, budget},
		{"a panic", &scripted{answer: func(context.Context, provider.Request) (string, error) { panic("broken") }}, nil, budget},
		{"no answer", &scripted{answer: hang}, nil, time.Second},
		{"no room", says("SKIP"), func(s *Settings) { s.Limit = model.NewLimit(0) }, budget},
		{"a model that cannot be asked", nil, func(s *Settings) { s.Asked.Chain = model.NewChain(unresolved{}, model.Options{}, "a/b") }, budget},
	} {
		t.Run(row.name, func(t *testing.T) {
			set := settings(row.model)
			if row.change != nil {
				row.change(set)
			}
			g := process(t, ns, set)
			require.NoError(t, g.State.(*state.Store).Open(t.Context()))
			req := requestOf(event(fmt.Sprint("m", i), "lunch at noon"))
			req.Deadline = req.Received.Add(row.within)
			reply, header := decide(t, g, req)
			require.Equal(t, "respond error", reply)
			require.NotContains(t, header, HeaderScore)
			if row.within == budget {
				// It was let through: a repetition is, too, whatever the model says now.
				require.Equal(t, "respond error", ask(t, process(t, ns, settings(says("SKIP"))), event(fmt.Sprint("m", i), "lunch at noon")))
			}
		})
	}
}

// A gateway that asks about many messages at once leaves others their share of
// the model.
func TestGatewaysShareTheModel(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	set := settings(&scripted{answer: func(_ context.Context, r provider.Request) (string, error) {
		if strings.Contains(r.User, "slow") {
			began <- struct{}{}
			<-release
		}
		return "SKIP", nil
	}})
	set.Limit = model.NewLimit(2)
	g := process(t, natstest.Start(t, nil), set)
	from := func(caller, id, text string) *hook.Request {
		req := requestOf(event(id, text))
		req.Caller = caller
		return req
	}
	for _, caller := range []string{"calm", "flood"} {
		reply, _ := decide(t, g, from(caller, "m "+caller, "lunch at noon"))
		require.Equal(t, "skip model", reply)
	}
	slow := make(chan string)
	go func() {
		reply, _ := decide(t, g, from("flood", "m1", "slow lunch"))
		slow <- reply
	}()
	<-began
	reply, _ := decide(t, g, from("flood", "m2", "lunch at noon"))
	require.Equal(t, "respond error", reply)
	reply, _ = decide(t, g, from("calm", "m3", "lunch at noon"))
	require.Equal(t, "skip model", reply)
	close(release)
	require.Equal(t, "skip model", <-slow)
}

type unresolved struct{}

func (unresolved) Resolve(string) (provider.Completer, error) { return nil, provider.ErrUnresolved }

func TestAWrongRequestIsRefused(t *testing.T) {
	t.Parallel()
	g := New(Options{Log: slog.New(slog.DiscardHandler)})
	g.Use(settings(says("")))
	res, err := g.Handler().Handle(t.Context(), requestOf(map[string]any{"content": 5}))
	require.ErrorIs(t, err, payload.ErrInvalid)
	require.Equal(t, []string{"error"}, res.Header[HeaderReason])
	header := g.Unasked(hook.ErrOverloaded, 0)
	require.Equal(t, []string{"respond"}, header[HeaderDecision])
	require.Equal(t, []string{"error"}, header[HeaderReason])
	require.Equal(t, []string{"error"}, g.Handler().Omitted(requestOf(nil), hook.ErrOverrun).Header[HeaderReason])
}

// What a model took counts whatever became of its answer.
func TestTokensOfAFailedCallAreCounted(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	empty := &scripted{answer: func(context.Context, provider.Request) (string, error) { return "", provider.ErrMalformed }}
	require.Equal(t, "respond error", ask(t, process(t, ns, settings(empty)), event("m1", "lunch at noon")))
	var all state.Tally
	require.NoError(t, store(t, ns).Decisions(t.Context(), time.Time{}, func(d state.Decision) error {
		all.Add(d, "")
		return nil
	}))
	require.Equal(t, state.Tokens{In: 100, Out: 2}, all.Tokens)
	require.Equal(t, 1, all.Asked)
}

// A repeated message gets the same decision from any process, and is not counted.
func TestRepeatsGetTheSameDecision(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	first, other := process(t, ns, settings(says("SKIP"))), process(t, ns, settings(says("RESPOND")))
	for range 2 {
		require.Equal(t, "skip model", ask(t, first, event("m1", "lunch at noon")))
		require.Equal(t, "skip model", ask(t, other, event("m1", "lunch at noon")))
	}
	require.Equal(t, "respond model", ask(t, other, event("m1", "lunch at noon", "sessionKey", "agent:main:group:2")), "another group's")
	require.Equal(t, "respond model", ask(t, other, event("m2", "lunch at noon")), "another one of the same text")
	require.InDelta(t, 1, testutil.ToFloat64(first.Metrics.decisions.WithLabelValues("skip", "model")), 0)
	require.InDelta(t, 1, testutil.ToFloat64(first.Metrics.repeats), 0)
	require.InDelta(t, 2, testutil.ToFloat64(other.Metrics.repeats), 0)
	var n int
	require.NoError(t, store(t, ns).Decisions(t.Context(), time.Time{}, func(d state.Decision) error {
		n++
		require.False(t, d.Decided.IsZero())
		require.Equal(t, state.Tokens{In: 100, Out: 2}, d.Tokens)
		return nil
	}))
	require.Equal(t, 3, n)
}

// Two gateways read the same group. A message that was skipped for one agent is
// answered by the agent that it calls by name, and counts once.
func TestAnAgentCalledByNameAnswersWhatAnotherOneSkipped(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	g := process(t, ns, settings(says("SKIP")))
	named := func(name string) string {
		req := requestOf(event("m1", "Mira, lunch at noon?"))
		req.Envelope.Ctx = json.RawMessage(`{"agentName":"` + name + `"}`)
		reply, _ := decide(t, g, req)
		return reply
	}
	require.Equal(t, "skip model", named("Claw"))
	require.Equal(t, "respond bot_name", named("Mira"))
	require.Equal(t, "skip model", named("Claw"))
	require.InDelta(t, 1, testutil.ToFloat64(g.Metrics.decisions.WithLabelValues("skip", "model")), 0)
	require.InDelta(t, 0, testutil.ToFloat64(g.Metrics.decisions.WithLabelValues("respond", "bot_name")), 0)
	require.InDelta(t, 2, testutil.ToFloat64(g.Metrics.repeats), 0)
}

// Without an id of the message, that of the request names it; without either
// nothing can be known again.
func TestMessagesWithoutAnID(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	var n atomic.Int32
	g := process(t, ns, settings(&scripted{answer: func(context.Context, provider.Request) (string, error) {
		if n.Add(1)%2 == 1 {
			return "SKIP", nil
		}
		return "RESPOND", nil
	}}))
	for _, want := range []string{"skip model", "respond model"} {
		require.Equal(t, want, ask(t, g, event("", "lunch at noon")))
	}
	for range 2 {
		req := requestOf(event("", "lunch at noon"))
		req.Envelope.ID = "e1"
		reply, _ := decide(t, g, req)
		require.Equal(t, "skip model", reply)
	}
}

// Three processes and one group: each message is decided about once, whoever is
// asked how often at the same time.
func TestThreeProcessesDecideAsOne(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	var n atomic.Int32
	contrary := &scripted{answer: func(context.Context, provider.Request) (string, error) {
		if n.Add(1)%2 == 1 {
			return "SKIP", nil
		}
		return "RESPOND", nil
	}}
	const messages = 20
	var gates [3]*Gate
	for i := range gates {
		set := settings(contrary)
		set.History, set.Quiet.Messages = 5, 1
		gates[i] = process(t, ns, set)
		gates[i].stateTime = time.Minute // for slow machines
	}
	var mu sync.Mutex
	replies := map[string]map[string]int{}
	var asking sync.WaitGroup
	for i := range messages {
		for _, g := range gates {
			for range 2 {
				asking.Go(func() {
					id := fmt.Sprint("m", i)
					reply := ask(t, g, event(id, "text of "+id))
					mu.Lock()
					defer mu.Unlock()
					if replies[id] == nil {
						replies[id] = map[string]int{}
					}
					replies[id][reply]++
				})
			}
		}
	}
	asking.Wait()
	for id, got := range replies {
		require.Len(t, got, 1, id)
		require.NotContains(t, got, "respond error", id)
	}
	var decided, repeated float64
	for _, g := range gates {
		for _, reason := range []string{"model", "quiet"} {
			decided += testutil.ToFloat64(g.Metrics.decisions.WithLabelValues("respond", reason))
		}
		decided += testutil.ToFloat64(g.Metrics.decisions.WithLabelValues("skip", "model"))
		repeated += testutil.ToFloat64(g.Metrics.repeats)
	}
	require.InDelta(t, messages, decided, 0)
	require.InDelta(t, 5*messages, repeated, 0)
	before, err := store(t, ns).Recent(t.Context(), groupKey, time.UnixMilli(1795215559000))
	require.NoError(t, err)
	require.LessOrEqual(t, len(before), 5+state.Spare)
	// Every message that was skipped is told, and no other.
	told, _, _, err := store(t, ns).Take(t.Context(), state.Turn{Group: groupKey, Run: "r1"}, 50, time.Now())
	require.NoError(t, err)
	for _, d := range told {
		require.Contains(t, replies[d.MessageID], "skip model")
		delete(replies, d.MessageID)
	}
	for id, got := range replies {
		require.NotContains(t, got, "skip model", id)
	}
}

func TestHistoryAndExamplesReachTheModel(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	m := says("RESPOND")
	set := settings(m)
	set.History, set.Prompt = 2, "mine"
	g := process(t, ns, set)
	g.UseMarks([]state.Mark{{Group: groupKey, Text: "thanks all", Verdict: state.Skip}})
	for i, text := range []string{"one is here", "k", "hi claw", "four is here"} {
		ask(t, g, event(fmt.Sprint("m", i), text, "senderId", strconv.Itoa(i)))
	}
	ask(t, g, event("x", "elsewhere", "sessionKey", "agent:main:group:other"))
	requests := m.requests()
	require.Len(t, requests, 3)
	require.Equal(t, "From: 0\nMessage: one is here", requests[0].User)
	require.Equal(t, "From: 3\nMessage: four is here\n\nRecent conversation:\n- 1: k\n- 2: hi claw", requests[1].User)
	require.Equal(t, "From: 555\nMessage: elsewhere", requests[2].User, "another group's conversation")
	require.Equal(t, "mine\n\nThe assistant is called: Claw\n\nExamples:\n- thanks all → SKIP", requests[0].System)
}

// The trained gate sees what was said before, and what was answered.
func TestTheTrainedGateSeesTheConversation(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	var seen [][]Earlier
	set.Local = watching(func(in LocalInput) { seen = append(seen, in.Recent) })
	g := process(t, ns, set)
	for i, text := range []string{"one is here", "hi claw", "three is here"} {
		ask(t, g, event(fmt.Sprint("m", i), text))
	}
	require.Len(t, seen, 2)
	require.Empty(t, seen[0])
	at := time.UnixMilli(1795215559000)
	require.Equal(t, []Earlier{
		{Sender: "555", Text: "one is here", At: at}, {Sender: "555", Text: "hi claw", At: at, Answered: true},
	}, seen[1])
}

type watching func(LocalInput)

func (w watching) Judge(in LocalInput) (respond, sure bool) {
	w(in)
	return false, true
}

func TestQuietCountsMessagesOfAllProcesses(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	set.Quiet = QuietGroups{3, 10 * time.Minute}
	gates := []*Gate{process(t, ns, set), process(t, ns, set)}
	const begin = 1795215559000
	for i, row := range []struct {
		text    string
		minutes int
		want    string
	}{
		{"one is here", 0, "respond quiet"},
		{"hi claw", 1, "respond bot_name"},
		{"three is here", 2, "respond quiet"},
		{"four is here", 3, "skip model"},
		{"five is here", 11, "respond quiet"},   // that of minute 1 is ten minutes old
		{"six is here", 30, "respond quiet"},    // a while later
		{"seven is here", 5, "skip model"},      // a clock was set back
		{"eight is here", 100, "respond quiet"}, // an hour after the last one
	} {
		id := fmt.Sprint("m", i)
		require.Equal(t, row.want, ask(t, gates[i%2], event(id, row.text, "timestamp", begin+row.minutes*60_000)), row.text)
	}
}

// A message is skipped only when that is stored.
func TestStateThatIsAway(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	m := says("SKIP")
	set := settings(m)
	set.Quiet.Messages, set.Keywords = 1, []string{"help"}
	g := process(t, ns, set)
	ask(t, g, event("m0", "lunch at noon"))
	require.Equal(t, "skip model", ask(t, g, event("m1", "lunch at noon")))
	ns.Shutdown()
	ns.WaitForShutdown()
	asked := len(m.requests())
	require.Equal(t, "respond error", ask(t, g, event("m2", "lunch at noon")))
	require.Equal(t, "respond error", ask(t, g, event("m3", "k")))
	require.Equal(t, "respond bot_name", ask(t, g, event("m4", "hi claw")))
	require.Equal(t, "respond keyword", ask(t, g, event("m5", "help me")))
	require.Equal(t, "respond direct", ask(t, g, event("m6", "lunch at noon", "isGroup", false)))
	require.Len(t, m.requests(), asked, "what the model says could not be used")
	require.Positive(t, testutil.ToFloat64(g.Metrics.failures.WithLabelValues(opDecision)))
}

func TestABucketThatIsDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	set.History = 3
	g := process(t, ns, set)
	require.Equal(t, "skip model", ask(t, g, event("m0", "lunch at noon")))
	js := natstest.JetStream(t, ns)
	for _, bucket := range []string{buckets.Decisions.Bucket, buckets.Recent.Bucket} {
		require.NoError(t, js.DeleteKeyValue(t.Context(), bucket))
	}
	n := 0
	require.Eventually(t, func() bool {
		n++
		reply := ask(t, g, event(fmt.Sprint("again", n), "lunch at noon"))
		require.Contains(t, []string{"respond error", "skip model"}, reply)
		return reply == "skip model"
	}, time.Minute, 50*time.Millisecond)
}

// broken is a state in which one operation fails.
type broken struct {
	State
	pend, decide error
	lose         bool // the decision is stored, and the answer is lost
}

func (b broken) Pend(ctx context.Context, group, id string, now time.Time) error {
	if b.pend != nil {
		return b.pend
	}
	return b.State.Pend(ctx, group, id, now)
}

func (b broken) Decide(ctx context.Context, d state.Decision) (state.Decision, bool, error) {
	if b.lose {
		_, _, _ = b.State.Decide(ctx, d)
	}
	if b.decide != nil {
		return d, false, b.decide
	}
	return b.State.Decide(ctx, d)
}

func TestADecisionThatCannotBeStoredResponds(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	away := errors.New("away")
	for i, row := range []struct {
		name  string
		state broken
		again string // what another process decides about a repetition
	}{
		{"before it is told to the next turn", broken{pend: away}, "respond error"},
		{"between that and the decision", broken{decide: away}, "skip model"},
		{"after it", broken{decide: away, lose: true}, "skip model"},
	} {
		t.Run(row.name, func(t *testing.T) {
			key := fmt.Sprint("agent:main:group:", i)
			g := process(t, ns, settings(says("SKIP")))
			row.state.State = g.State
			g.State = row.state
			require.Equal(t, "respond error", ask(t, g, event("m1", "lunch at noon", "sessionKey", key)))
			require.Equal(t, row.again, ask(t, process(t, ns, settings(says("SKIP"))), event("m1", "lunch at noon", "sessionKey", key)))
			told, _, _, err := store(t, ns).Take(t.Context(), state.Turn{Group: key, Run: "r1"}, 10, time.Now())
			require.NoError(t, err)
			require.Len(t, told, strings.Count(row.again, "skip"))
		})
	}
}

// A process that dies between the two writes of a skip leaves nothing behind that
// the next turn is told.
func TestACrashBeforeTheDecision(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	s := store(t, ns)
	now := time.Now()
	require.NoError(t, s.Pend(t.Context(), groupKey, "crashed", now))
	require.Equal(t, "skip model", ask(t, process(t, ns, settings(says("SKIP"))), event("m2", "lunch at noon")))
	told, _, _, err := s.Take(t.Context(), state.Turn{Group: groupKey, Run: "r1"}, 10, now)
	require.NoError(t, err)
	require.Len(t, told, 1)
	// It may still be decided; the decision is told then.
	require.Equal(t, "skip model", ask(t, process(t, ns, settings(says("SKIP"))), event("crashed", "where is lunch")))
	told, _, _, err = s.Take(t.Context(), state.Turn{Group: groupKey, Run: "r2"}, 10, now)
	require.NoError(t, err)
	require.Len(t, told, 1)
	require.Equal(t, "where is lunch", told[0].Text)
}

// A handler that was left out has let the message through.
func TestALateDecisionIsNotASkip(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	release := make(chan struct{})
	g := process(t, ns, settings(&scripted{answer: func(context.Context, provider.Request) (string, error) {
		<-release
		return "SKIP", nil
	}}))
	require.NoError(t, g.State.(*state.Store).Open(t.Context()))
	runner := hook.NewRunner(hook.Hook{Name: subjects.HookBeforeDispatch, Handlers: []hook.Handler{g.Handler()}}, hook.Options{
		Timeout: func() time.Duration { return time.Minute }, Budget: func(string) time.Duration { return 50 * time.Millisecond },
		Log: slog.New(slog.DiscardHandler),
	})
	replies := replyOf(t, runner, event("m1", "lunch at noon"))
	require.Equal(t, []string{"error"}, (<-replies).Header[HeaderReason])
	close(release)
	require.Eventually(t, func() bool {
		d, ok, err := g.State.Decision(t.Context(), groupKey, "m1")
		require.NoError(t, err)
		return ok && d.Verdict == state.Respond && d.Reason == string(Failed)
	}, time.Minute, 5*time.Millisecond)
}

func TestTextsAreRedactedAndBounded(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	m := says("SKIP")
	set := settings(m)
	set.Redact, set.History = true, 3
	g := process(t, ns, set)
	text := "write to alice@example.com\nplease " + strings.Repeat("x ", 3000)
	ask(t, g, event("m1", text))
	ask(t, g, event("m2", "lunch at noon"))
	require.Contains(t, m.requests()[0].User, "alice@example.com", "what is asked is not redacted")
	d, ok, err := g.State.Decision(t.Context(), groupKey, "m1")
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, strings.HasPrefix(d.Text, "write to [EMAIL] please x x"), d.Text)
	require.Len(t, d.Text, 500)
	require.Contains(t, m.requests()[1].User, "- 555: write to [EMAIL] please")
	js := natstest.JetStream(t, ns)
	for _, bucket := range []string{buckets.Decisions.Bucket, buckets.Recent.Bucket} {
		kv, err := js.KeyValue(t.Context(), bucket)
		require.NoError(t, err)
		keys, err := kv.Keys(t.Context())
		require.NoError(t, err)
		for _, key := range keys {
			entry, err := kv.Get(t.Context(), key)
			require.NoError(t, err)
			require.NotContains(t, string(entry.Value()), "alice", key)
		}
	}
}

func TestDecisionsAreLoggedWithoutTexts(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	for _, logs := range []bool{true, false} {
		var out bytes.Buffer
		set := settings(says("SKIP"))
		set.LogDecisions = logs
		g := process(t, ns, set)
		g.Log = slog.New(slog.NewJSONHandler(&out, nil))
		ask(t, g, event(fmt.Sprint("m", logs), "lunch at noon"))
		require.Equal(t, logs, strings.Contains(out.String(), `"msg":"triage decision"`), out.String())
		require.NotContains(t, out.String(), "lunch")
	}
}

func TestMetricsPassTheLinter(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	NewMetrics(r)
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	require.Empty(t, problems)
}
