package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/payload"
	"intenthint/subjects"
)

const (
	agent  = "main"
	prefix = subjects.Prefix(subjects.DefaultPrefix)
)

// history is the messages of a session, oldest first and as a gateway passes
// them, of at least so many bytes of JSON.
func history(bytes int) json.RawMessage {
	var messages []json.RawMessage
	for n := 0; bytes > 0; n++ {
		for _, m := range []any{
			map[string]any{"role": "user", "content": fmt.Sprintf("What did the meeting of week %d decide about the roof?", n), "timestamp": 1763680000000 + n},
			map[string]any{
				"role": "assistant", "api": "openai-completions", "provider": "openai", "model": "gpt-5", "stopReason": "toolUse",
				"content": []any{map[string]any{"type": "toolCall", "id": fmt.Sprint("call-", n), "name": "read", "arguments": map[string]any{"path": fmt.Sprintf("notes/week-%d.md", n)}}},
				"usage":   map[string]any{"input": 120, "output": 12, "totalTokens": 132},
			},
			map[string]any{
				"role": "toolResult", "toolCallId": fmt.Sprint("call-", n), "toolName": "read", "isError": false,
				"content": []any{map[string]any{"type": "text", "text": notes[:300]}},
			},
			map[string]any{
				"role": "assistant", "api": "openai-completions", "provider": "openai", "model": "gpt-5", "stopReason": "stop",
				"content": []any{map[string]any{"type": "text", "text": "They put it off until spring, and asked for two more offers."}},
				"usage":   map[string]any{"input": 160, "output": 40, "totalTokens": 200},
			},
		} {
			raw := marshal(m)
			messages = append(messages, raw)
			bytes -= len(raw) + 1
		}
	}
	return marshal(messages)
}

// notes is what a tool reads.
var notes = strings.Repeat("The roof over the east wing lets in water when the wind comes from the sea. ", 12)

func marshal(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps, texts and numbers
	}
	return data
}

func runContext(session, run string) map[string]any {
	return map[string]any{
		"runId": run, "agentId": agent, "trigger": "user", "sessionId": session,
		"sessionKey": "agent:main:telegram:direct:" + session, "channel": "telegram", "messageProvider": "telegram",
		"channelId": session, "chatId": session, "senderId": session, "modelProviderId": "openai", "modelId": "gpt-5",
	}
}

// prompts makes requests for hints, each for a new run, in so many sessions one
// after the other. It is safe for concurrent use.
type prompts struct {
	name     string
	sessions int
	messages json.RawMessage
	made     atomic.Int64
}

func (p *prompts) next() []byte {
	n := p.made.Add(1)
	session := fmt.Sprintf("%s-%d", p.name, n%int64(p.sessions))
	return marshal(map[string]any{
		"hook":  subjects.HookBeforePromptBuild,
		"event": map[string]any{"prompt": "can you remind me to water the plants tomorrow at nine?", "messages": p.messages},
		"ctx":   runContext(session, fmt.Sprintf("%s-run-%d", p.name, n)),
		"ts":    time.Now().UnixMilli(),
	})
}

// workload is what gateways publish: the turns of sessions, each with the
// turn_begun of a consumer, tool calls (two and three by turns) and an end.
type workload struct {
	name     string
	sessions int
	turns    int // of each session
	first    int // number of the first turn
	noCalls  bool
	most     int // events, where the last turns end early; 0 for all
}

// interleaved is how many sessions have a turn at a time.
const interleaved = 8

// each calls publish with every event: all first turns before the second ones,
// the events of a few sessions among each other.
func (w workload) each(publish func(*nats.Msg) error) error {
	left := w.count()
	for turn := w.first; turn < w.first+w.turns; turn++ {
		for from := 0; from < w.sessions; from += interleaved {
			for _, m := range w.together(turn, from, min(from+interleaved, w.sessions)) {
				if left == 0 {
					return nil
				}
				left--
				if err := publish(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// together is a turn of some sessions, all of them at the same time.
func (w workload) together(turn, from, to int) (out []*nats.Msg) {
	running := make([][]*nats.Msg, 0, to-from)
	for session := from; session < to; session++ {
		running = append(running, w.turn(session, turn))
	}
	for i := range running[0] {
		for _, events := range running {
			out = append(out, events[i])
		}
	}
	return out
}

// count is the number of events.
func (w workload) count() int {
	n := 0
	for turn := w.first; turn < w.first+w.turns; turn++ {
		n += w.sessions * (2 + w.calls(turn))
	}
	if w.most > 0 {
		return min(n, w.most)
	}
	return n
}

func (w workload) calls(turn int) int {
	if w.noCalls {
		return 0
	}
	return 2 + turn%2
}

// began is the time of the first turn at the gateway, in Unix milliseconds.
const began = 1763680000000

var earlier = history(4 << 10)

// turn returns the events of a turn, in order.
func (w workload) turn(session, turn int) []*nats.Msg {
	id := fmt.Sprintf("%s-%d", w.name, session)
	run := fmt.Sprintf("%s-run-%d", id, turn)
	ts := int64(began + turn*60_000 + session)
	prompt := fmt.Sprintf("Please read note %d and tell me what it says about the roof.", turn)
	var out []*nats.Msg
	add := func(hook, event string, data []byte) {
		m := nats.NewMsg(prefix.Event(hook, agent, id))
		m.Header.Set(subjects.HeaderMsgID, event)
		m.Data = data
		out = append(out, m)
	}
	publish := func(hook, event string, ts int64, body map[string]any) {
		add(hook, event, marshal(map[string]any{"hook": hook, "ts": ts, "id": event, "event": body, "ctx": runContext(id, run)}))
	}
	var conversation []payload.Turn
	if turn > 0 {
		conversation = []payload.Turn{{Role: "user", Text: "What did the meeting decide?"}, {Role: "assistant", Text: "They put it off until spring."}}
	}
	add(subjects.HookTurnBegun, run+"-begun", payload.EncodeTurnBegun(run+"-begun", ts,
		payload.Context{RunID: run, AgentID: agent, SessionKey: "agent:main:telegram:direct:" + id, SessionID: id, Trigger: "user", Channel: "telegram", MessageProvider: "telegram"},
		payload.TurnBegun{
			RunID: run, Prompt: prompt, Hint: notes, Conversation: conversation,
			Result: &payload.Classification{
				Intent: "MEMORY_LOOKUP", Name: "Memory Lookup", Reason: "close to the example “what does my note say”", Goal: prompt,
				Confidence: 0.93, Complexity: "low", Source: "local", ElapsedMs: 0.2,
			},
		}, 0))
	for c := range w.calls(turn) {
		call := fmt.Sprintf("%s-call-%d", run, c)
		publish(subjects.HookAfterToolCall, call, ts+int64(c+1)*1000, map[string]any{
			"toolName": "read", "toolCallId": call, "runId": run, "durationMs": 12,
			"params": map[string]any{"path": fmt.Sprintf("notes/%d-%d.md", turn, c)},
			"result": map[string]any{"content": []any{map[string]any{"type": "text", "text": notes}}},
		})
	}
	publish(subjects.HookAgentEnd, run+"-end", ts+10_000, map[string]any{"messages": earlier, "success": true, "durationMs": 10_000, "runId": run})
	return out
}
