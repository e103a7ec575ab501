package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/store"
)

func event(hook, event, ctx string) []byte {
	return []byte(`{"hook":"` + hook + `","event":` + event + `,"ctx":` + ctx + `,"ts":1763680000123,"id":"e1"}`)
}

// decoder leaves out turns with a trigger, and takes the first message as the
// conversation.
var decoder = Decoder{Begin: func(ctx payload.Context, e payload.BeforePromptBuild) ([]payload.Turn, bool) {
	if len(e.Messages) == 0 {
		return nil, ctx.Trigger == ""
	}
	return []payload.Turn{{Role: payload.RoleUser, Text: e.Messages[0].Content.Texts()[0]}}, ctx.Trigger == ""
}}

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
		{"feedback on a hint", event("feedback", `{"kind":"hint","runId":"r7","verdict":"wrong","intent":"MEMORY","by":"ada"}`, ctx), "s1", func(f *store.Fact) {
			f.RunID = "r7"
			f.Feedback = &store.Feedback{Verdict: "wrong", Intent: "MEMORY", By: "ada"}
		}},
		{"feedback by a long name", event("feedback", `{"kind":"hint","runId":"r1","verdict":"right","intent":" A\nB ","by":"`+strings.Repeat("字", 201)+`"}`, ctx), "s1", func(f *store.Fact) {
			f.Feedback = &store.Feedback{Verdict: "right", Intent: "A B", By: strings.Repeat("字", 200)}
		}},
		{"a turn", event("turn_begun", `{"runId":"r1","prompt":"q","conversation":[{"role":"user","text":"before"}],"hint":"h"}`, ctx), "s1", func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "q", Conversation: []payload.Turn{{Role: "user", Text: "before"}}}
		}},
		{"a turn of a session that is held out", event("turn_begun", `{"runId":"r1","prompt":"q","skip":"holdout","heldOut":true}`, ctx), "s1", func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "q", Skip: "holdout", HeldOut: new(true)}
		}},
		{"a turn whose request got no answer", event("before_prompt_build", `{"prompt":"q","messages":[{"role":"user","content":"before"}]}`, ctx), "s1", func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "q", Conversation: []payload.Turn{{Role: "user", Text: "before"}}, Unanswered: true}
		}},
		{"a turn that was told what the session said", event("turn_begun", `{"runId":"r1","prompt":"q","earlier":3}`, ctx), "s1", func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "q", Earlier: 3}
		}},
		{"a turn with a message beside the prompt", event("turn_begun", `{"runId":"r1","prompt":"q and more","message":"q"}`, ctx), "s1", func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "q and more", Message: "q"}
		}},
		{"an unanswered one", event("before_prompt_build", `{"prompt":"q and more","currentUserMessage":"q"}`, ctx), "s1", func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "q and more", Message: "q", Unanswered: true}
		}},
		{"a session key stands in for the id", event("session_end", `{"reason":"new"}`, `{"sessionKey":"agent:ops:web1"}`), "agent:ops:web1", func(f *store.Fact) {
			*f = store.Fact{ID: "e1", TS: 1763680000123, SessionKey: "agent:ops:web1", AgentID: "ops", Close: &store.Close{Reason: "new"}}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			session, _, fact, err := decoder.Fact("", "", row.body)
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
		{"a turn that the rules leave out", event("before_prompt_build", `{"prompt":"q"}`, `{"sessionId":"s","trigger":"cron"}`)},
		{"a turn without a session", event("before_prompt_build", `{"prompt":"q"}`, `{}`)},
		{"feedback on a decision of the triage gate", event("feedback", `{"kind":"triage","messageId":"m","group":"g","verdict":"skip"}`, `{"sessionId":"s"}`)},
		{"an event without a session", event("agent_end", `{}`, `{}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			session, _, _, err := decoder.Fact("", "", row.body)
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
		{"a prompt that is not text", event("before_prompt_build", `{"prompt":["q"]}`, `{"sessionId":"s"}`)},
		{"a wrong type in an event we read", event("after_tool_call", `{"toolName":5}`, `{"sessionId":"s"}`)},
		{"feedback of another kind", event("feedback", `{"kind":"mood","runId":"r","verdict":"right"}`, `{"sessionId":"s"}`)},
		{"a verdict of another kind", event("feedback", `{"kind":"hint","runId":"r","verdict":"skip"}`, `{"sessionId":"s"}`)},
		{"feedback on no run", event("feedback", `{"kind":"hint","verdict":"right"}`, `{"sessionId":"s","runId":"r"}`)},
		{"no ts", []byte(`{"hook":"agent_end","event":{},"ctx":{},"id":"x"}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, _, err := decoder.Fact("", "", row.body)
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
		{"before_prompt_build", "before_prompt_build", `{"prompt":"p","messages":[{"role":"user","content":"t"},{"role":"assistant","content":"%s"}]}`},
		{"after_tool_call", "after_tool_call", `{"toolName":"exec","params":{"command":"ls"},"result":{"content":[{"type":"text","text":"%s"}]}}`},
		{"after_tool_call that failed", "after_tool_call", `{"toolName":"exec","error":"failed","result":"%s"}`},
		{"after_tool_call with a skill", "after_tool_call", `{"toolName":"read","params":{"path":"SKILL.md"},"result":"---\nname: weather\ndescription: a: b\n---\n%s"}`},
		{"agent_end", "agent_end", `{"messages":[{"role":"user","content":"%s"},{"role":"assistant","content":"done"}]}`},
		{"session_end", "session_end", `{"reason":"reset","padding":"%s"}`},
		{"feedback", "feedback", `{"kind":"hint","runId":"r","verdict":"right","by":"%s"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			body := event(row.hook, strings.ReplaceAll(row.event, "%s", padding), `{"sessionId":"s","runId":"r"}`)
			facts := make([]store.Fact, count)
			before := inUse()
			for i := range facts {
				var err error
				_, _, facts[i], err = decoder.Fact("", "", bytes.Clone(body))
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
	_, _, fact, err := decoder.Fact("", "", event("after_tool_call", `{"toolName":"exec","result":{"content":[{"type":"text","text":"`+long+`"}]}}`, `{"sessionId":"s"}`))
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

// What becomes part of a session passes package redact; ids and keys do not.
func TestFactsAreRedacted(t *testing.T) {
	const (
		ctx  = `{"runId":"alice@example.com","agentId":"main","sessionId":"s1","sessionKey":"agent:main:telegram:direct:+4915112345678"}`
		mail = "alice@example.com"
	)
	base := store.Fact{ID: "e1", TS: 1763680000123, RunID: mail, SessionID: "s1", SessionKey: "agent:main:telegram:direct:+4915112345678", AgentID: "main"}
	for _, row := range []struct {
		name string
		body []byte
		want func(f *store.Fact)
	}{
		{"a tool call", event("after_tool_call", `{"toolName":"mail","params":{"to":"`+mail+`","password":"x1","`+mail+`":1},"toolCallId":"`+mail+`","result":"sent to `+mail+`"}`, ctx), func(f *store.Fact) {
			f.Call = &store.Call{ToolCallID: mail, Name: "mail", Params: json.RawMessage(`{"to":"[EMAIL]","password":"[API_KEY]","[EMAIL]":1}`), Result: "sent to [EMAIL]"}
		}},
		{"a result that is cut", event("after_tool_call", `{"toolName":"mail","result":"`+strings.Repeat("x", 190)+" "+mail+`"}`, ctx), func(f *store.Fact) {
			f.Call = &store.Call{Name: "mail", Result: strings.Repeat("x", 190) + " [EMAIL]"}
		}},
		{"a failed tool call", event("after_tool_call", `{"toolName":"mail","error":"no user `+mail+`"}`, ctx), func(f *store.Fact) {
			f.Call = &store.Call{Name: "mail", Error: "no user [EMAIL]"}
		}},
		{"a skill", event("after_tool_call", `{"toolName":"read","params":{"path":"/home/alice/w/SKILL.md"},"result":"---\nname: weather\n---"}`, ctx), func(f *store.Fact) {
			f.Call = &store.Call{
				Name: "read", Params: json.RawMessage(`{"path":"/home/[REDACTED]/w/SKILL.md"}`), Result: "---\nname: weather\n---",
				Skill: &store.Skill{Name: "weather", Path: "/home/[REDACTED]/w/SKILL.md"},
			}
		}},
		{"an end", event("agent_end", `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"it is `+mail+`"}],"error":"at `+mail+`"}`, ctx), func(f *store.Fact) {
			f.End = &store.End{Result: "it is [EMAIL]", Error: "at [EMAIL]"}
		}},
		{"feedback", event("feedback", `{"kind":"hint","runId":"r1","verdict":"wrong","intent":"MAIL","by":"`+mail+`"}`, ctx), func(f *store.Fact) {
			f.RunID, f.Feedback = "r1", &store.Feedback{Verdict: "wrong", Intent: "MAIL", By: "[EMAIL]"}
		}},
		{"a session's end", event("session_end", `{"reason":"new"}`, ctx), func(f *store.Fact) { f.Close = &store.Close{Reason: "new"} }},
		{"a turn", event("turn_begun", `{"prompt":"I am `+mail+`","conversation":[{"role":"user","text":"`+mail+`"}],"result":{"intent":"I","reason":"`+mail+`","goal":"`+mail+`","suggestion":"`+mail+`"}}`, ctx), func(f *store.Fact) {
			f.Begin = &store.Begin{
				Input: "I am [EMAIL]", Conversation: []payload.Turn{{Role: "user", Text: "[EMAIL]"}},
				Result: &payload.Classification{Intent: "I", Reason: "[EMAIL]", Goal: "[EMAIL]", Suggestion: "[EMAIL]"},
			}
		}},
		{"a turn whose request got no answer", event("before_prompt_build", `{"prompt":"I am `+mail+`","currentUserMessage":"`+mail+`","messages":[{"role":"user","content":"`+mail+`"}]}`, ctx), func(f *store.Fact) {
			f.Begin = &store.Begin{Input: "I am [EMAIL]", Message: "[EMAIL]", Conversation: []payload.Turn{{Role: "user", Text: "[EMAIL]"}}, Unanswered: true}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := base
			row.want(&want)
			_, _, fact, err := Decoder{Begin: decoder.Begin, Redact: true}.Fact("", "", row.body)
			require.NoError(t, err)
			require.Equal(t, want, fact)
			_, _, fact, err = decoder.Fact("", "", row.body)
			require.NoError(t, err)
			if row.name != "a session's end" {
				require.NotEqual(t, want, fact, "off")
			}
		})
	}
}
