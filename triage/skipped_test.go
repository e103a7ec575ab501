package triage

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/hook"
	"intenthint/internal/natstest"
	"intenthint/payload"
	"intenthint/triage/state"
)

// replyOf sends a before_dispatch request through a runner.
func replyOf(t *testing.T, r *hook.Runner, e map[string]any) <-chan bus.Reply {
	t.Helper()
	body, err := json.Marshal(map[string]any{"hook": "before_dispatch", "event": e, "ctx": map[string]any{}})
	require.NoError(t, err)
	out := make(chan bus.Reply, 1)
	go r.Answer(t.Context(), bus.Request{Data: body, Received: time.Now()}, func(reply bus.Reply) { out <- reply })
	return out
}

func teller(t *testing.T, ns *server.Server, set *Settings) *Skipped {
	t.Helper()
	s := &Skipped{State: store(t, ns), Metrics: NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler)}
	s.Use(set)
	return s
}

// tell returns what a turn is told, "" for nothing.
func tell(t *testing.T, s *Skipped, ctx payload.Context, messages ...string) string {
	t.Helper()
	event := map[string]any{"prompt": "hi claw", "messages": []any{}}
	for _, m := range messages {
		event["messages"] = append(event["messages"].([]any), map[string]any{"role": "user", "content": m})
	}
	raw, err := json.Marshal(event)
	require.NoError(t, err)
	now := time.Now()
	res, err := s.Handler().Handle(t.Context(), &hook.Request{Envelope: payload.Envelope{Event: raw}, Context: ctx, Received: now, Deadline: now.Add(time.Minute)})
	require.NoError(t, err)
	if res.Decision == nil {
		return ""
	}
	return res.Decision.(hook.PrependContext).Text
}

func turn(run string) payload.Context {
	return payload.Context{SessionKey: groupKey, RunID: run, Trigger: "user"}
}

func TestTheNextTurnIsToldOnce(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	set.Recall = 3
	g := process(t, ns, set)
	tellers := []*Skipped{teller(t, ns, set), teller(t, ns, set)}
	require.Empty(t, tell(t, tellers[0], turn("r0")))
	for i := range 5 {
		ask(t, g, event(fmt.Sprint("m", i), fmt.Sprint("text ", i)))
	}
	ask(t, g, event("m5", "hi claw"))
	const want = payload.UntrustedHeader + "\n<skipped-messages>\nMessages of this group that were not answered, oldest first (2 older left out):\n- 555: text 2\n- 555: text 3\n- 555: text 4\n</skipped-messages>"
	require.Equal(t, want, tell(t, tellers[0], turn("r1")))
	require.Equal(t, want, tell(t, tellers[1], turn("r1")), "the run asks again")
	require.Empty(t, tell(t, tellers[1], turn("r2")))
	ask(t, g, event("m6", "text 6"))
	require.Contains(t, tell(t, tellers[1], turn("r3")), "oldest first:\n- 555: text 6\n</")
	require.Empty(t, tell(t, tellers[0], turn("r2")))

	// Pictures without text take no places.
	ask(t, g, event("m7", "text 7"))
	for i := range 2 * state.MaxSkipped {
		ask(t, g, event(fmt.Sprint("picture", i), []string{"", " \n"}[i%2]))
	}
	require.Contains(t, tell(t, tellers[0], turn("r4")), "\n- 555: text 7\n</")
}

func TestTurnsThatAreNotTold(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	g := process(t, ns, set)
	ask(t, g, event("m1", "lunch at noon"))
	s := teller(t, ns, set)
	for _, row := range []struct {
		name string
		ctx  payload.Context
		set  func(s *Settings)
	}{
		{"a heartbeat", payload.Context{SessionKey: groupKey, Trigger: "heartbeat"}, nil},
		{"an empty trigger", payload.Context{SessionKey: groupKey, EmptyTrigger: true}, nil},
		{"another session's", payload.Context{SessionKey: groupKey, Provenance: payload.Provenance{Kind: "inter_session"}}, nil},
		{"an internal session", payload.Context{SessionKey: groupKey, SessionID: "active-memory-1"}, nil},
		{"a subagent", payload.Context{SessionKey: "agent:main:subagent:1"}, nil},
		{"another group", payload.Context{SessionKey: groupKey + "1"}, nil},
		{"a direct chat", payload.Context{SessionKey: "agent:main:telegram:direct:1"}, nil},
		{"no session", payload.Context{}, nil},
		{"a group that the gate does not look at", turn("r1"), func(s *Settings) { s.ExcludeGroups = []string{groupKey} }},
		{"nothing is told", turn("r1"), func(s *Settings) { s.Recall = 0 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			own := *set
			if row.set != nil {
				row.set(&own)
			}
			s.Use(&own)
			require.Empty(t, tell(t, s, row.ctx))
		})
	}
	s.Use(set)
	require.NotEmpty(t, tell(t, s, payload.Context{SessionKey: groupKey}), "a gateway without triggers")
}

func TestWhatTheTranscriptHoldsIsNotTold(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	g := process(t, ns, set)
	ask(t, g, event("m1", "lunch at noon"))
	ask(t, g, event("m2", "or later"))
	s := teller(t, ns, set)
	require.Contains(t, tell(t, s, turn("r1"), "lunch at noon"), "first:\n- 555: or later\n</")
	require.Empty(t, tell(t, s, turn("r2")), "the agent knows the other one")
}

// What is not given is put back.
func TestATurnThatIsLeftOutIsToldNothing(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	set := settings(says("SKIP"))
	ask(t, process(t, ns, set), event("m1", "lunch at noon"))
	s := teller(t, ns, set)
	release, taken := make(chan struct{}), make(chan struct{})
	h := s.Handler()
	s.State = slow{s.State, taken, release}
	runner := hook.NewRunner(hook.Hook{Name: "before_prompt_build", Handlers: []hook.Handler{h}}, hook.Options{
		Timeout: func() time.Duration { return 10 * time.Second }, Budget: func(string) time.Duration { return time.Millisecond },
		Log: slog.New(slog.DiscardHandler),
	})
	reply := make(chan bus.Reply, 1)
	go runner.Answer(t.Context(), bus.Request{Received: time.Now(), Data: []byte(`{"hook":"before_prompt_build","event":{"prompt":"x"},"ctx":{"sessionKey":"` + groupKey + `","runId":"r1"}}`)}, func(r bus.Reply) { reply <- r })
	<-taken
	require.Equal(t, "{}", string((<-reply).Body))
	close(release)
	require.Eventually(t, func() bool { return tell(t, teller(t, ns, set), turn("r2")) != "" }, time.Minute, 10*time.Millisecond)
}

// slow is a state whose answers are late.
type slow struct {
	SkippedState
	taken, release chan struct{}
}

func (s slow) Take(_ context.Context, turn state.Turn, most int, now time.Time) ([]state.Decision, int, bool, error) {
	out, left, again, err := s.SkippedState.Take(context.Background(), turn, most, now)
	close(s.taken)
	<-s.release
	return out, left, again, err
}
