package main

import (
	"cmp"
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

// history returns the messages of a session, oldest first and as a gateway sends
// them, of at least the given bytes of JSON.
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

// notes is the result of a tool call.
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

// prompts makes requests for hints, each for a new run, in each of the sessions
// in turn. It is safe for concurrent use.
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
// turn_begun of a consumer, tool calls and an agent_end.
type workload struct {
	name       string
	sessions   int
	first      int // number of the first turn
	turns      int // turns of each session
	toolCalls  int // calls of each turn; 0 for two and three in alternation, negative for none
	concurrent int // sessions that have a turn at the same time; 0 for fewSessions
	most       int // limit of events, which cuts the last turns short; 0 for none
}

// fewSessions have a turn at the same time unless a workload says otherwise.
const fewSessions = 8

// each calls publish with every event: all first turns before the second ones,
// the events of concurrent sessions interleaved.
func (w workload) each(publish func(*nats.Msg) error) error {
	left := w.count()
	concurrent := cmp.Or(w.concurrent, fewSessions)
	for turn := w.first; turn < w.first+w.turns; turn++ {
		for from := 0; from < w.sessions; from += concurrent {
			for i := range w.events(turn) {
				for session := from; session < min(from+concurrent, w.sessions); session++ {
					if left == 0 {
						return nil
					}
					left--
					if err := publish(w.event(session, turn, i)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// count is the number of events.
func (w workload) count() int {
	n := 0
	for turn := w.first; turn < w.first+w.turns; turn++ {
		n += w.sessions * w.events(turn)
	}
	if w.most > 0 {
		return min(n, w.most)
	}
	return n
}

// events is the number of events of a turn.
func (w workload) events(turn int) int {
	return 2 + max(cmp.Or(w.toolCalls, 2+turn%2), 0)
}

// began is the time of the first turn at the gateway, in Unix milliseconds.
const began = 1763680000000

var earlier = history(4 << 10)

// event returns one event of a turn: its beginning, then the calls, then the end.
func (w workload) event(session, turn, i int) *nats.Msg {
	id := fmt.Sprintf("%s-%d", w.name, session)
	run := fmt.Sprintf("%s-run-%d", id, turn)
	ts := int64(began + turn*600_000 + session)
	if i == 0 {
		return turnBegun(id, run, ts, turn)
	}
	if i == w.events(turn)-1 {
		return observed(subjects.HookAgentEnd, id, run, run+"-end", ts+500_000,
			map[string]any{"messages": earlier, "success": true, "durationMs": 500_000, "runId": run})
	}
	call := fmt.Sprintf("%s-call-%d", run, i-1)
	return observed(subjects.HookAfterToolCall, id, run, call, ts+int64(i)*1000, map[string]any{
		"toolName": "read", "toolCallId": call, "runId": run, "durationMs": 12,
		"params": map[string]any{"path": fmt.Sprintf("notes/%d-%d.md", turn, i-1)},
		"result": map[string]any{"content": []any{map[string]any{"type": "text", "text": notes}}},
	})
}

// turnBegun is what a consumer publishes at the beginning of a turn.
func turnBegun(session, run string, ts int64, turn int) *nats.Msg {
	prompt := fmt.Sprintf("Please read note %d and tell me what it says about the roof.", turn)
	var conversation []payload.Turn
	if turn > 0 {
		conversation = []payload.Turn{{Role: "user", Text: "What did the meeting decide?"}, {Role: "assistant", Text: "They put it off until spring."}}
	}
	return message(subjects.HookTurnBegun, session, run+"-begun", payload.EncodeTurnBegun(run+"-begun", ts,
		payload.Context{
			RunID: run, AgentID: agent, SessionKey: "agent:main:telegram:direct:" + session, SessionID: session,
			Trigger: "user", Channel: "telegram", MessageProvider: "telegram",
		},
		payload.TurnBegun{
			RunID: run, Prompt: prompt, Hint: notes, Conversation: conversation,
			Result: &payload.Classification{
				Intent: "MEMORY_LOOKUP", Name: "Memory Lookup", Reason: "close to the example “what does my note say”", Goal: prompt,
				Confidence: 0.93, Complexity: "low", Source: "local", ElapsedMs: 0.2,
			},
		}, 0))
}

// observed is what a gateway publishes.
func observed(hook, session, run, id string, ts int64, event map[string]any) *nats.Msg {
	return message(hook, session, id, marshal(map[string]any{"hook": hook, "ts": ts, "id": id, "event": event, "ctx": runContext(session, run)}))
}

func message(hook, session, id string, data []byte) *nats.Msg {
	m := nats.NewMsg(prefix.Event(hook, agent, session))
	m.Header.Set(subjects.HeaderMsgID, id)
	m.Data = data
	return m
}
