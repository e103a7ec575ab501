//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/test/faults"
)

// messageOf returns an event of a workload as a gateway sends it.
func messageOf(e faults.Event) *nats.Msg {
	var out event
	switch e.Hook {
	case faults.ToolCall:
		out = toolCall(e.Session, e.Run, e.Call, "read", e.TS)
		if e.Failed {
			out.event["error"] = e.Text
		}
	case faults.AgentEnd:
		out = agentEnd(e.Session, e.Run, "Please read the note.", e.Text, e.TS)
		if e.Failed {
			out.event["success"], out.event["error"], out.event["messages"] = false, e.Text, []any{}
		}
	default:
		out = sessionEnd(e.Session, e.Text, e.TS)
	}
	out.id = e.ID
	return out.message()
}

// stored decodes a message of the event stream as an event of a workload.
func stored(data []byte) (faults.Event, error) {
	var m struct {
		Hook  string `json:"hook"`
		ID    string `json:"id"`
		TS    int64  `json:"ts"`
		Event struct {
			RunID      string          `json:"runId"`
			Prompt     string          `json:"prompt"`
			Result     json.RawMessage `json:"result"`
			ToolCallID string          `json:"toolCallId"`
			Error      string          `json:"error"`
			Reason     string          `json:"reason"`
			Messages   []struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"messages"`
		} `json:"event"`
		Ctx struct {
			RunID     string `json:"runId"`
			SessionID string `json:"sessionId"`
		} `json:"ctx"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return faults.Event{}, err
	}
	e := faults.Event{ID: m.ID, Hook: m.Hook, Session: m.Ctx.SessionID, Run: m.Ctx.RunID, TS: m.TS, Call: m.Event.ToolCallID}
	switch m.Hook {
	case faults.TurnBegun:
		e.Text, e.Failed, e.Call = m.Event.Prompt, len(m.Event.Result) == 0, ""
	case faults.ToolCall:
		var result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		if err := json.Unmarshal(m.Event.Result, &result); err != nil {
			return e, err
		}
		e.Text, e.Failed = result.Content[0].Text, m.Event.Error != ""
	case faults.AgentEnd:
		e.Text, e.Failed = m.Event.Error, m.Event.Error != ""
		for _, message := range m.Event.Messages {
			e.Text = message.Content[0].Text
		}
	case faults.SessionEnd:
		e.Text = m.Event.Reason
	}
	return e, nil
}

// streamed reads the whole event stream.
func streamed(t *testing.T, js jetstream.JetStream) []faults.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	stream, err := js.Stream(ctx, "OPENCLAW_EVENTS")
	require.NoError(t, err)
	last := stream.CachedInfo().State.LastSeq
	if last == 0 {
		return nil
	}
	reader, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	messages, err := reader.Messages()
	require.NoError(t, err)
	defer messages.Stop()
	var out []faults.Event
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		require.NoError(t, err)
		e, err := stored(m.Data())
		require.NoError(t, err, "%s", m.Data())
		out = append(out, e)
		meta, err := m.Metadata()
		require.NoError(t, err)
		if meta.Sequence.Stream >= last {
			return out
		}
	}
}

// gateways run the sessions of a workload, each gateway one session at a time.
type gateways struct {
	workload faults.Workload
	history  faults.History
	pace     time.Duration
	next     atomic.Int64
	running  sync.WaitGroup
	quit     chan struct{}
	// unanswered counts requests without an answer.
	unanswered atomic.Int64
}

// runGateways starts n gateways, each of which takes a step per pace.
func runGateways(workload faults.Workload, n int, pace time.Duration, connect func() *gateway) *gateways {
	g := &gateways{workload: workload, pace: pace, quit: make(chan struct{})}
	for range n {
		one := connect()
		g.running.Go(func() {
			for !g.over() {
				g.play(one, g.workload.Session(int(g.next.Add(1))-1))
			}
		})
	}
	return g
}

// stop ends them, in the middle of their sessions.
func (g *gateways) stop() {
	close(g.quit)
	g.running.Wait()
}

func (g *gateways) over() bool {
	select {
	case <-g.quit:
		return true
	default:
		return false
	}
}

func (g *gateways) play(one *gateway, steps []faults.Step) {
	pace := time.NewTicker(g.pace)
	defer pace.Stop()
	for _, s := range steps {
		select {
		case <-pace.C:
		case <-g.quit:
			return
		}
		if s.Ask != nil {
			g.ask(one, *s.Ask)
		} else {
			g.publish(one, s)
		}
	}
}

// ask requests a hint and, as gateways do, repeats the request when none comes.
// After the last attempt the run goes on without.
func (g *gateways) ask(one *gateway, a faults.Ask) {
	const attempts = 3
	for attempt := range attempts {
		if attempt > 0 {
			a.TS++
			a.Prompt = faults.Continue
			time.Sleep(200 * time.Millisecond)
		}
		g.history.Asked(a)
		r, err := one.try(turn{session: a.Session, run: a.Run, prompt: a.Prompt, ts: a.TS, budget: time.Second})
		if err == nil {
			if r.Header.Get("Hint-Source") != "cache" {
				g.history.Answered(a.Run, time.Now())
			}
			return
		}
		g.unanswered.Add(1)
	}
}

// publish publishes an event until it is acknowledged or the gateway gives up.
func (g *gateways) publish(one *gateway, s faults.Step) {
	g.history.Published(*s.Event)
	for range 6 {
		msg := messageOf(*s.Event)
		if s.NoID {
			msg.Header.Del("Nats-Msg-Id")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		_, err := one.js.PublishMsg(ctx, msg)
		cancel()
		if err == nil {
			g.history.Acknowledged(s.Event.ID)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// worked waits until every event of the stream is acknowledged.
func worked(t *testing.T, js jetstream.JetStream, most time.Duration) {
	t.Helper()
	var state string
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		durable, err := js.Consumer(ctx, "OPENCLAW_EVENTS", "intent-hint")
		if err != nil {
			state = err.Error()
			return false
		}
		info := durable.CachedInfo()
		state = fmt.Sprintf("%d pending, %d not acknowledged", info.NumPending, info.NumAckPending)
		return info.NumPending == 0 && info.NumAckPending == 0
	}, most, 10*tick, "the events were not worked off: %s", lazy(func() string { return state }))
}

// documents reads the sessions of the system from either store.
func (s *system) documents() map[string]faults.Document {
	s.t.Helper()
	out, err := s.readDocuments()
	require.NoError(s.t, err)
	return out
}

func (s *system) readDocuments() (map[string]faults.Document, error) {
	dir := s.sessionsDir()
	if s.env["HINT_STORE"] == "kv" {
		dir = filepath.Join(s.t.TempDir(), "export")
		if r := s.run("sessions", "export", dir); r.code != 0 {
			return nil, errors.New(r.stderr)
		}
	}
	return faults.Documents(dir)
}

// requireSame fails the test when the documents differ from what was published.
func requireSame(t *testing.T, h *faults.History, stream []faults.Event, documents map[string]faults.Document) {
	t.Helper()
	findings := h.Check(stream, documents)
	kinds := map[faults.Kind]int{}
	for i, f := range findings {
		kinds[f.Kind]++
		if i < 40 {
			t.Error(f)
		}
	}
	require.Empty(t, kinds, "%d deviations", len(findings))
}

// TestWorkloadWithoutFaults shows that the workload, the program and the
// checker agree when nothing goes wrong.
func TestWorkloadWithoutFaults(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_HISTORY_LIMIT": "2"})
	s.serve(2, 2)
	w := faults.Workload{Seed: 1, Name: "calm", Turns: 8, Calls: 6, Start: time.Now().Add(-24 * time.Hour).UnixMilli()}
	g := runGateways(w, 8, time.Millisecond, func() *gateway { return s.gateway() })
	require.Eventually(t, func() bool { return g.history.Counts().Acknowledged > 1000 }, time.Minute, tick)
	g.stop()
	js := s.gateway().js
	worked(t, js, patient)
	requireSame(t, &g.history, streamed(t, js), s.documents())
	require.Zero(t, g.unanswered.Load())
	t.Log(g.history.Counts())
}
