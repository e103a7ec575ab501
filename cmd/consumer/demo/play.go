package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"intenthint/app"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/payload"
	"intenthint/subjects"
)

const (
	mainAgent = "main"
	agentName = "Robin"
	// requestTime is the time limit of a request: the first ones may come while the
	// machine is still busy with the start.
	requestTime = 20 * time.Second
	// afterMessage is how long after its message a turn's first tool call ends, and
	// afterTools how long after its last one the turn does.
	afterMessage, afterTools = 2 * time.Second, 3 * time.Second
	// settling is the pause between two looks at whether all events are applied.
	settling = 50 * time.Millisecond
)

// player sends a day to a system.
type player struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	layout bus.Layout
	now    time.Time
	steps  []step
}

// step is one thing that happens.
type step struct {
	at time.Time
	do func(context.Context) error
}

// Play sends a day that ends now, in the order of its times, and returns once all of
// it is stored.
func Play(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, l bus.Layout, d Day, now time.Time) error {
	p := &player{nc: nc, js: js, layout: l, now: now}
	for _, e := range d.Experiences {
		if err := p.experience(ctx, e); err != nil {
			return fmt.Errorf("experience %q: %w", e.Task, err)
		}
	}
	for _, s := range d.Sessions {
		p.session(s)
	}
	for i, g := range d.Groups {
		p.group(i, g)
	}
	for _, letter := range d.Letters {
		p.add(letter.Ago, func(ctx context.Context) error {
			return p.publish(ctx, p.layout.Prefix.Event(letter.Hook, letter.Agent, letter.Session), nuid.Next(), []byte(letter.Body))
		})
	}
	slices.SortStableFunc(p.steps, func(a, b step) int { return a.at.Compare(b.at) })
	for _, s := range p.steps {
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return p.settle(ctx)
}

func (p *player) add(ago time.Duration, do func(context.Context) error) {
	p.steps = append(p.steps, step{p.now.Add(-ago), do})
}

// chat is a conversation and what was said in it so far.
type chat struct {
	payload.Context
	messages []map[string]any
}

// chatNames make a readable session id of a chat.
var chatNames = strings.NewReplacer(":direct:", "-", ":", "-")

func newChat(agent, key string) *chat {
	agent = cmp.Or(agent, mainAgent)
	return &chat{Context: payload.Context{AgentID: agent, SessionID: chatNames.Replace(key), SessionKey: "agent:" + agent + ":" + key, Trigger: "user"}}
}

func (c *chat) say(role, text string) {
	c.messages = append(c.messages, map[string]any{"role": role, "content": text})
}

func (p *player) session(s Session) {
	c := newChat(s.Agent, s.Chat)
	for n, t := range s.Turns {
		p.add(t.Ago, func(ctx context.Context) error { return p.turn(ctx, c, fmt.Sprintf("%s-%d", c.SessionID, n+1), t) })
	}
	if s.Ended != "" {
		p.add(s.Turns[len(s.Turns)-1].Ago-time.Hour, func(ctx context.Context) error {
			return p.event(ctx, subjects.HookSessionEnd, c.Context, p.now.Add(-s.Turns[len(s.Turns)-1].Ago+time.Hour),
				map[string]any{"sessionId": c.SessionID, "sessionKey": c.SessionKey, "reason": s.Ended})
		})
	}
}

// turn sends a message, the tool calls of the agent, and the end of its run.
func (p *player) turn(ctx context.Context, c *chat, run string, t Turn) error {
	c.RunID = run
	at := p.now.Add(-t.Ago)
	if _, err := p.ask(ctx, subjects.HookBeforePromptBuild, c.AgentID, c.Context, at, map[string]any{"prompt": t.Text, "messages": c.messages}); err != nil {
		return err
	}
	c.say(payload.RoleUser, t.Text)
	at = at.Add(afterMessage)
	for n, tool := range t.Tools {
		at = at.Add(time.Duration(tool.Ms) * time.Millisecond)
		event := map[string]any{
			"toolName": tool.Name, "params": tool.Params, "runId": run, "toolCallId": fmt.Sprintf("%s-call-%d", run, n+1), "durationMs": tool.Ms,
			"result": map[string]any{"content": []any{map[string]any{"type": "text", "text": cmp.Or(tool.Result, tool.Error)}}},
		}
		if tool.Error != "" {
			event["error"] = tool.Error
		}
		if err := p.event(ctx, subjects.HookAfterToolCall, c.Context, at, event); err != nil {
			return err
		}
	}
	at = at.Add(afterTools)
	if t.Tokens[0] > 0 {
		if err := p.event(ctx, subjects.HookLLMOutput, c.Context, at, map[string]any{
			"runId": run, "provider": "example", "model": "large",
			"usage": map[string]any{"input": t.Tokens[0], "output": t.Tokens[1], "cacheRead": t.Tokens[2]},
		}); err != nil {
			return err
		}
	}
	c.say(payload.RoleAssistant, t.Answer)
	end := map[string]any{"messages": c.messages, "runId": run, "success": !t.Fails}
	if t.Fails {
		end["error"] = "the run ended without a result"
	}
	if err := p.event(ctx, subjects.HookAgentEnd, c.Context, at, end); err != nil || t.Mark == "" {
		return err
	}
	said := payload.Feedback{Kind: payload.FeedbackHint, RunID: run, Verdict: payload.VerdictRight, By: "demo"}
	if t.Mark != payload.VerdictRight {
		said.Verdict, said.Intent = payload.VerdictWrong, t.Mark
	}
	return app.PublishFeedback(ctx, p.js, p.layout, c.Context, said)
}

func (p *player) group(i int, g Group) {
	c := newChat(g.Agent, g.Chat)
	for n, m := range g.Messages {
		p.add(m.Ago, func(ctx context.Context) error { return p.message(ctx, c, strconv.Itoa(100*(i+1)+n), m) })
	}
}

// message asks the triage gate about a message, and begins a turn if it is let through.
func (p *player) message(ctx context.Context, c *chat, id string, m Message) error {
	at := p.now.Add(-m.Ago)
	gate := struct {
		payload.Context
		AgentName string `json:"agentName"`
	}{c.Context, agentName}
	reply, err := p.ask(ctx, subjects.HookBeforeDispatch, c.AgentID, gate, at, map[string]any{
		"messageId": id, "content": m.Text, "sessionKey": c.SessionKey, "senderId": m.From, "isGroup": true, "timestamp": at.UnixMilli(),
	})
	if err != nil {
		return err
	}
	var decision struct {
		Handled bool `json:"handled"`
	}
	if err := json.Unmarshal(reply, &decision); err != nil {
		return err
	}
	if !decision.Handled && m.Answer != "" {
		if err := p.turn(ctx, c, c.SessionID+"-"+id, Turn{Ago: m.Ago, Text: m.Text, Answer: m.Answer}); err != nil {
			return err
		}
	}
	if m.Mark == "" {
		return nil
	}
	return app.PublishFeedback(ctx, p.js, p.layout, c.Context, payload.Feedback{
		Kind: payload.FeedbackTriage, MessageID: id, Group: c.SessionKey, Verdict: m.Mark, By: "demo",
	})
}

// experience submits an experience, and approves it if a person did.
func (p *player) experience(ctx context.Context, e Experience) error {
	reply, err := p.request(ctx, p.layout.Prefix.KnowHub("submit"), map[string]any{
		"task": e.Task, "resource": e.Resource, "result": e.Result, "agent_id": e.Agent, "submitted_by": agentName,
	})
	if err != nil || !e.Approve {
		return err
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(reply, &made); err != nil {
		return err
	}
	_, err = p.request(ctx, p.layout.Prefix.KnowHub("approve"), map[string]any{"id": made.ID})
	return err
}

// ask sends a request of a decision hook, and returns the decision.
func (p *player) ask(ctx context.Context, hook, agent string, about any, at time.Time, event any) ([]byte, error) {
	return p.request(ctx, p.layout.Prefix.Request(hook, agent), envelope(hook, about, at, event))
}

func envelope(hook string, about any, at time.Time, event any) map[string]any {
	return map[string]any{"hook": hook, "event": event, "ctx": about, "ts": at.UnixMilli(), "id": nuid.Next()}
}

func (p *player) request(ctx context.Context, subject string, body any) ([]byte, error) {
	msg := nats.NewMsg(subject)
	var err error
	if msg.Data, err = json.Marshal(body); err != nil {
		return nil, err
	}
	msg.Header.Set(subjects.HeaderTimeoutMs, strconv.FormatInt(requestTime.Milliseconds(), 10))
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	reply, err := p.nc.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", subject, err)
	}
	if fault := reply.Header.Get(subjects.HeaderError); fault != "" {
		return nil, fmt.Errorf("request %s: %s", subject, fault)
	}
	return reply.Data, nil
}

// event publishes an event of an observation hook.
func (p *player) event(ctx context.Context, hook string, about payload.Context, at time.Time, event any) error {
	body := envelope(hook, about, at, event)
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return p.publish(ctx, p.layout.Prefix.Event(hook, about.AgentID, about.Session()), body["id"].(string), data)
}

func (p *player) publish(ctx context.Context, subject, id string, data []byte) error {
	_, err := p.js.Publish(ctx, subject, data, jetstream.WithMsgID(id))
	return err
}

// settle waits until all events are applied.
func (p *player) settle(ctx context.Context) error {
	for {
		place, err := events.Where(ctx, p.js, p.layout)
		if err != nil || place.Applied == place.End() {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(settling):
		}
	}
}
