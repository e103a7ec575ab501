//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// object is a JSON object.
type object = map[string]any

// gateway uses the system as an OpenClaw gateway does.
type gateway struct {
	t  *testing.T
	nc *nats.Conn
	js jetstream.JetStream
}

func (s *system) gateway(opts ...nats.Option) *gateway {
	s.t.Helper()
	opts = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond)}, opts...)
	nc, err := nats.Connect(s.url(), opts...)
	require.NoError(s.t, err)
	s.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(s.t, err)
	return &gateway{t: s.t, nc: nc, js: js}
}

// token encodes a value as a subject token and file name (contract §2).
func token(value string) string {
	switch value {
	case "":
		return "_"
	case "_":
		return "=5F"
	}
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

var ids atomic.Uint64

// unique returns a name that is used once in this run of the tests.
func unique(what string) string {
	return fmt.Sprintf("%s-%d-%d", what, time.Now().UnixNano(), ids.Add(1))
}

// turn is a message of a user, by default in a direct chat.
type turn struct {
	session, run, prompt string
	messages             []any
	ctx                  object // added to the context of a direct chat
	ts                   int64
	budget               time.Duration
}

// directChat is the context of a turn of a direct chat.
func directChat(session, run string) object {
	return object{
		"runId": run, "agentId": "main", "sessionId": session,
		"sessionKey": "agent:main:telegram:direct:" + session,
		"trigger":    "user", "channel": "telegram", "messageProvider": "telegram",
		"channelId": session, "chatId": session, "senderId": session,
	}
}

// message returns the request of a turn.
func (tr turn) message() *nats.Msg {
	ctx := directChat(tr.session, tr.run)
	maps.Copy(ctx, tr.ctx)
	messages := tr.messages
	if messages == nil {
		messages = []any{}
	}
	ts := tr.ts
	if ts == 0 {
		ts = time.Now().UnixMilli()
	}
	body, err := json.Marshal(object{
		"hook": "before_prompt_build", "event": object{"prompt": tr.prompt, "messages": messages},
		"ctx": ctx, "ts": ts, "id": unique("request"),
	})
	if err != nil {
		panic(err)
	}
	agent, _ := ctx["agentId"].(string)
	msg := nats.NewMsg("openclaw.request.before_prompt_build." + token(agent))
	msg.Data = body
	msg.Header.Set("Hint-Timeout-Ms", strconv.FormatInt(tr.within().Milliseconds(), 10))
	return msg
}

func (tr turn) within() time.Duration {
	if tr.budget > 0 {
		return tr.budget
	}
	return 3 * time.Second
}

// reply is the answer to a request.
type reply struct {
	*nats.Msg
	hint string // prependContext
	took time.Duration
}

// try sends the request of a turn and waits no longer than its budget.
func (g *gateway) try(tr turn) (reply, error) {
	began := time.Now()
	msg, err := g.nc.RequestMsg(tr.message(), tr.within())
	if err != nil {
		return reply{}, err
	}
	out := reply{Msg: msg, took: time.Since(began)}
	var body struct {
		PrependContext string `json:"prependContext"`
	}
	if err := json.Unmarshal(msg.Data, &body); err != nil {
		return reply{}, fmt.Errorf("body %q: %w", msg.Data, err)
	}
	out.hint = body.PrependContext
	return out, nil
}

// ask is try, and fails the test without an answer.
func (g *gateway) ask(tr turn) reply {
	g.t.Helper()
	r, err := g.try(tr)
	require.NoError(g.t, err, "the request of run %s", tr.run)
	return r
}

// event is what a gateway publishes.
type event struct {
	hook, agent, session string
	event, ctx           object
	ts                   int64
	id                   string
}

func (e event) message() *nats.Msg {
	body, err := json.Marshal(object{"hook": e.hook, "event": e.event, "ctx": e.ctx, "ts": e.ts, "id": e.id})
	if err != nil {
		panic(err)
	}
	msg := nats.NewMsg("openclaw.event." + token(e.hook) + "." + token(e.agent) + "." + token(e.session))
	msg.Data = body
	msg.Header.Set("Nats-Msg-Id", e.id)
	return msg
}

// publish publishes events and waits for the acknowledgements.
func (g *gateway) publish(events ...event) {
	g.t.Helper()
	for _, e := range events {
		g.store(e.message())
	}
}

// store publishes a message and waits for the acknowledgement.
func (g *gateway) store(msg *nats.Msg) *jetstream.PubAck {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ack, err := g.js.PublishMsg(ctx, msg)
	require.NoError(g.t, err)
	return ack
}

// toolCall is an after_tool_call event; run may be "".
func toolCall(session, run, id, tool string, ts int64) event {
	ctx := object{"toolName": tool, "agentId": "main", "sessionId": session, "sessionKey": "agent:main:telegram:direct:" + session, "toolCallId": id}
	ev := object{
		"toolName": tool, "params": object{"path": id + ".txt"}, "toolCallId": id, "durationMs": 7,
		"result": object{"content": []any{object{"type": "text", "text": "result of " + id}}, "details": object{}},
	}
	if run != "" {
		ctx["runId"], ev["runId"] = run, run
	}
	return event{hook: "after_tool_call", agent: "main", session: session, event: ev, ctx: ctx, ts: ts, id: "tool-" + id}
}

// agentEnd is an agent_end event with the whole session so far.
func agentEnd(session, run, prompt, answer string, ts int64) event {
	return event{
		hook: "agent_end", agent: "main", session: session, ctx: directChat(session, run), ts: ts, id: "end-" + run,
		event: object{
			"runId": run, "success": true, "durationMs": 100,
			"messages": []any{
				object{"role": "user", "content": []any{object{"type": "text", "text": prompt}}},
				object{"role": "assistant", "content": []any{object{"type": "text", "text": answer}}, "stopReason": "stop"},
			},
		},
	}
}

// sessionEnd is a session_end event.
func sessionEnd(session, reason string, ts int64) event {
	key := "agent:main:telegram:direct:" + session
	return event{
		hook: "session_end", agent: "main", session: session, ts: ts, id: unique("session-end"),
		ctx:   object{"agentId": "main", "sessionId": session, "sessionKey": key},
		event: object{"sessionId": session, "sessionKey": key, "messageCount": 0, "reason": reason},
	}
}

// drained waits until every event of the stream is acknowledged.
func (g *gateway) drained() {
	g.t.Helper()
	var state string
	require.Eventually(g.t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		durable, err := g.js.Consumer(ctx, "OPENCLAW_EVENTS", "intent-hint")
		if err != nil {
			state = err.Error()
			return false
		}
		info := durable.CachedInfo()
		state = fmt.Sprintf("%d pending, %d not acknowledged", info.NumPending, info.NumAckPending)
		return info.NumPending == 0 && info.NumAckPending == 0
	}, patient, 5*tick, "the events were not worked off: %s", lazy(func() string { return state }))
}

// lazy is a text that is computed when a failure is reported.
type lazy func() string

func (l lazy) String() string { return l() }

// ping returns the service instances that answer within the time, or the first
// that are enough.
func ping(url string, enough int, within time.Duration) map[string]object {
	found := map[string]object{}
	nc, err := nats.Connect(url, nats.NoReconnect(), nats.Timeout(time.Second))
	if err != nil {
		return found
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil || nc.PublishRequest("$SRV.PING.intent-hint", sub.Subject, nil) != nil {
		return found
	}
	until := time.Now().Add(within)
	for len(found) < enough {
		msg, err := sub.NextMsg(time.Until(until))
		if err != nil {
			return found
		}
		var answer object
		if json.Unmarshal(msg.Data, &answer) == nil {
			if id, ok := answer["id"].(string); ok {
				found[id] = answer
			}
		}
	}
	return found
}

// noResponders reports whether a request had no responders.
func noResponders(err error) bool { return errors.Is(err, nats.ErrNoResponders) }
