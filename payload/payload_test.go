package payload

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/subjects"
)

func TestDecodeRequest(t *testing.T) {
	for _, row := range []struct{ name, body, fault string }{
		{"whole", `{"hook":"h","event":{},"ctx":{},"ts":1763680000123,"id":"x"}`, ""},
		{"without ts and id", `{"hook":"h","event":{},"ctx":{}}`, ""},
		{"unknown fields", `{"hook":"h","event":{"a":1},"ctx":{"b":[]},"more":{}}`, ""},
		{"empty", ``, "message is not valid JSON"},
		{"not JSON", `hello`, "message is not valid JSON"},
		{"an array", `[]`, "message must be an object"},
		{"two objects", `{"hook":"h","event":{},"ctx":{}}{}`, "message is not valid JSON"},
		{"null", `null`, "message must be an object"},
		{"no hook", `{"event":{},"ctx":{}}`, "hook is missing"},
		{"hook is a number", `{"hook":1,"event":{},"ctx":{}}`, "hook of message must be a string"},
		{"no event", `{"hook":"h","ctx":{}}`, "event is missing"},
		{"event is null", `{"hook":"h","event":null,"ctx":{}}`, "event of message must be an object"},
		{"event is a string", `{"hook":"h","event":"{}","ctx":{}}`, "event of message must be an object"},
		{"no ctx", `{"hook":"h","event":{}}`, "ctx is missing"},
		{"ctx is an array", `{"hook":"h","event":{},"ctx":[]}`, "ctx of message must be an object"},
		{"ts is text", `{"hook":"h","event":{},"ctx":{},"ts":"now"}`, "ts of message must be a number"},
		{"id is a number", `{"hook":"h","event":{},"ctx":{},"id":7}`, "id of message must be a string"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := DecodeRequest([]byte(row.body))
			if row.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, row.fault)
		})
	}
}

// In a request a ts may be absent, or anything but a time in seconds.
func TestTheTimeOfARequest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, ts, fault string
		want            int64
	}{
		{"milliseconds", "1763680000123", "", 1763680000123},
		{"none", "null", "", 0},
		{"seconds", "1763680000", "it is in seconds", 0},
		{"seconds with a fraction", "1763680000.5", "it is in seconds", 0},
		{"nanoseconds", "1763680000123000000", "", 0},
		{"a small number", "1", "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			e, err := DecodeRequest([]byte(`{"hook":"h","event":{},"ctx":{},"ts":` + row.ts + `}`))
			if row.fault != "" {
				require.ErrorIs(t, err, ErrInvalid)
				require.ErrorContains(t, err, row.fault)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.want, e.TS)
		})
	}
}

func TestTheHookOfAnEventIsThatOfItsSubject(t *testing.T) {
	t.Parallel()
	body := []byte(`{"hook":"turn_begun","event":{},"ctx":{},"ts":1763680000123,"id":"x"}`)
	_, err := DecodeEvent("turn_begun", "", body)
	require.NoError(t, err)
	_, err = DecodeEvent("", "", body)
	require.NoError(t, err, "where the subject does not matter")
	_, err = DecodeEvent("agent_end", "", body)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "hook is turn_begun, but the subject names agent_end")
	_, err = DecodeEvent("agent_end", "", []byte(`{"hook":"agent_end","hook":"turn_begun","event":{},"ctx":{},"ts":1763680000123,"id":"x"}`))
	require.ErrorIs(t, err, ErrInvalid, "the one that is read counts")
}

func TestDecodeEvent(t *testing.T) {
	for _, row := range []struct{ name, body, msgID, fault, id string }{
		{"whole", `{"hook":"h","event":{},"ctx":{},"ts":1763680000123,"id":"x"}`, "y", "", "x"},
		{"id from the header", `{"hook":"h","event":{},"ctx":{},"ts":1763680000123}`, "y", "", "y"},
		{"no id anywhere", `{"hook":"h","event":{},"ctx":{},"ts":1763680000123}`, "", "id is missing", ""},
		{"no ts", `{"hook":"h","event":{},"ctx":{},"id":"x"}`, "", "ts is missing", ""},
		{"a ts of null", `{"hook":"h","event":{},"ctx":{},"ts":null,"id":"x"}`, "", "ts is missing", ""},
		{"a ts before 1970", `{"hook":"h","event":{},"ctx":{},"ts":-1,"id":"x"}`, "", "ts must be a time in milliseconds", ""},
		{"a ts in nanoseconds", `{"hook":"h","event":{},"ctx":{},"ts":1763680000123000000,"id":"x"}`, "", "ts must be a time in milliseconds", ""},
		{"a ts beyond all numbers", `{"hook":"h","event":{},"ctx":{},"ts":1e19,"id":"x"}`, "", "ts must be a time in milliseconds", ""},
		{"the first ts", `{"hook":"h","event":{},"ctx":{},"ts":978307200000,"id":"x"}`, "", "", "x"},
		{"a ts of 2000", `{"hook":"h","event":{},"ctx":{},"ts":978307199999,"id":"x"}`, "", "from 2001 to 9999", ""},
		{"the last ts", `{"hook":"h","event":{},"ctx":{},"ts":253402300799999,"id":"x"}`, "", "", "x"},
		{"a ts of the year 10000", `{"hook":"h","event":{},"ctx":{},"ts":253402300800000,"id":"x"}`, "", "from 2001 to 9999", ""},
		{"a ts in seconds", `{"hook":"h","event":{},"ctx":{},"ts":1763680000,"id":"x"}`, "", "it is in seconds", ""},
		{"a ts in seconds of 1970", `{"hook":"h","event":{},"ctx":{},"ts":0.5,"id":"x"}`, "", "ts must be a time in milliseconds", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := DecodeEvent("", row.msgID, []byte(row.body))
			if row.fault != "" {
				require.ErrorIs(t, err, ErrInvalid)
				require.ErrorContains(t, err, row.fault)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.id, e.ID)
		})
	}
}

func TestAgentOfAContext(t *testing.T) {
	for _, row := range []struct {
		name string
		ctx  Context
		want string
	}{
		{"its own", Context{AgentID: "ops", SessionKey: "agent:main:x"}, "ops"},
		{"of the session key", Context{SessionKey: "agent:ops:x"}, "ops"},
		{"a key of another form", Context{SessionKey: "cron:ops:x"}, "main"},
		{"a key with an empty id", Context{SessionKey: "agent::x"}, "main"},
		{"a key that ends early", Context{SessionKey: "agent:ops"}, "main"},
		{"none", Context{}, "main"},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, row.ctx.Agent()) })
	}
}

func TestPromptMustBeAString(t *testing.T) {
	for _, prompt := range []string{"5", "null", "{}", "[]", "true"} {
		t.Run(prompt, func(t *testing.T) {
			_, err := DecodeBeforePromptBuild(json.RawMessage(`{"prompt":` + prompt + `}`))
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, "prompt")
		})
	}
	e, err := DecodeBeforePromptBuild(json.RawMessage(`{"messages":[]}`))
	require.NoError(t, err)
	require.Empty(t, e.Prompt)
	_, err = DecodeBeforePromptBuild(json.RawMessage(`{"prompt":"x","messages":{}}`))
	require.ErrorContains(t, err, "messages of event must be an array, not an object")
	_, err = DecodeBeforePromptBuild(json.RawMessage(`{"prompt":"x","messages":[{"role":7}]}`))
	require.ErrorIs(t, err, ErrInvalid)
}

func TestCurrentUserMessage(t *testing.T) {
	for _, row := range []struct {
		name, event, message, beside string
		there                        bool
	}{
		{"absent", `{"prompt":"p"}`, "p", "", false},
		{"null", `{"prompt":"p","currentUserMessage":null}`, "p", "", false},
		{"another text", `{"prompt":"p","currentUserMessage":"m"}`, "m", "m", true},
		{"the same text", `{"prompt":"p","currentUserMessage":"p"}`, "p", "", true},
		{"empty", `{"prompt":"p","currentUserMessage":""}`, "", "", true},
		{"no prompt", `{"currentUserMessage":"m"}`, "m", "m", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := DecodeBeforePromptBuild(json.RawMessage(row.event))
			require.NoError(t, err)
			require.Equal(t, row.there, e.Current != nil)
			require.Equal(t, row.message, e.Message())
			require.Equal(t, row.beside, e.Beside())
		})
	}
	_, err := DecodeBeforePromptBuild(json.RawMessage(`{"prompt":"p","currentUserMessage":["m"]}`))
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "currentUserMessage of event must be a string, not an array")
}

func TestProvenanceOfMessages(t *testing.T) {
	e, err := DecodeBeforePromptBuild(json.RawMessage(`{"prompt":"p","messages":[
		{"role":"user","content":"a","provenance":{"kind":"inter_session","sourceTool":"sessions_send"}},
		{"role":"user","provenance":{"kind":7}},{"role":"user","provenance":"inter_session"},{"role":"user"}]}`))
	require.NoError(t, err)
	var kinds []string
	for _, m := range e.Messages {
		kinds = append(kinds, m.Provenance.Kind)
	}
	require.Equal(t, []string{InterSession, "", "", ""}, kinds)
}

func TestContent(t *testing.T) {
	for _, row := range []struct {
		name, json string
		want       []string
	}{
		{"a string", `"hi"`, []string{"hi"}},
		{"text parts", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, []string{"a", "b"}},
		{"only text counts", `[{"type":"thinking","thinking":"t"},{"type":"redacted_thinking","data":"x"},{"type":"toolCall","name":"n"},{"type":"text","text":"a"}]`, []string{"a"}},
		{"parts of unknown shape", `["a",5,null,{"type":7},{"type":"text","text":7},{"type":"text"}]`, nil},
		{"an object", `{"a":1}`, nil},
		{"null", `null`, nil},
		{"a number", `5`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := DecodeAgentEnd(json.RawMessage(`{"messages":[{"role":"user","content":` + row.json + `}]}`))
			require.NoError(t, err)
			require.Len(t, e.Messages, 1)
			require.Equal(t, row.want, e.Messages[0].Content.Texts())
		})
	}
}

func TestToolResultText(t *testing.T) {
	for _, row := range []struct{ name, result, want string }{
		{"a string", `,"result":"as it is"`, "as it is"},
		{"the first text part", `,"result":{"content":[{"type":"image"},{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, "one"},
		{"a bare list of parts", `,"result":[{"type":"text","text":"one"}]`, "one"},
		{"no text", `,"result":{"content":[]}`, ""},
		{"another shape", `,"result":{"content":{"a":1}}`, ""},
		{"null", `,"result":null`, ""},
		{"absent", ``, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := DecodeAfterToolCall(json.RawMessage(`{"toolName":"x"` + row.result + `}`))
			require.NoError(t, err)
			require.Equal(t, row.want, e.Text)
		})
	}
}

func TestErrorText(t *testing.T) {
	for _, row := range []struct{ name, json, want string }{
		{"a string", `"no such file"`, "no such file"},
		{"null", `null`, ""},
		{"an object with a message", `{"message":"no such file","code":2}`, "no such file"},
		{"another object", `{"code":2}`, `{"code":2}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := DecodeAfterToolCall(json.RawMessage(`{"error":` + row.json + `}`))
			require.NoError(t, err)
			require.Equal(t, row.want, e.Error)
		})
	}
	_, err := DecodeAfterToolCall(json.RawMessage(`{"error":5}`))
	require.ErrorIs(t, err, ErrInvalid)
}

func TestOutcome(t *testing.T) {
	user := Message{Role: "user", Content: `"q"`}
	said := func(s string) Message {
		return Message{Role: "assistant", Content: Content(JSON(s)), StopReason: "stop"}
	}
	failed := Message{Role: "assistant", StopReason: "error", ErrorMessage: "500 upstream"}
	for _, row := range []struct {
		name            string
		event           AgentEnd
		result, failure string
	}{
		{"the last text of the last turn", AgentEnd{Messages: []Message{user, said("old"), user, said("a"), {Role: "toolResult"}, said("b")}}, "b", ""},
		{"an answer before the last user message is not this turn's", AgentEnd{Messages: []Message{user, said("old"), user}}, "", ""},
		{"text before a tool call counts when nothing follows", AgentEnd{Messages: []Message{user, said("looking"), {Role: "assistant"}}}, "looking", ""},
		{"a failed model call that the gateway calls a success", AgentEnd{Messages: []Message{user, failed}}, "", "500 upstream"},
		{"an error that a later answer healed", AgentEnd{Messages: []Message{user, failed, said("fine")}}, "fine", ""},
		{"an old turn's failure is not this one's", AgentEnd{Messages: []Message{user, failed, user}}, "", ""},
		{"the event's own error wins", AgentEnd{Error: "aborted", Messages: []Message{user, failed}}, "", "aborted"},
		{"an error without a message", AgentEnd{Messages: []Message{user, {Role: "assistant", StopReason: "error"}}}, "", "the model call failed"},
		{"nothing", AgentEnd{}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, failure := row.event.Outcome()
			require.Equal(t, row.result, result)
			require.Equal(t, row.failure, failure)
		})
	}
}

// captured returns the samples that a real gateway fired for a hook.
func captured(t testing.TB, hook string) []Envelope {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "openclaw", hook+".json"))
	require.NoError(t, err)
	var out []Envelope
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func TestCapturedEventsDecode(t *testing.T) {
	for _, hook := range []string{subjects.HookBeforePromptBuild, subjects.HookAfterToolCall, subjects.HookAgentEnd, subjects.HookSessionEnd} {
		for _, env := range captured(t, hook) {
			ctx, err := DecodeContext(env.Ctx)
			require.NoError(t, err)
			require.NotEmpty(t, ctx.SessionKey)
			switch hook {
			case subjects.HookBeforePromptBuild:
				_, err = DecodeBeforePromptBuild(env.Event)
			case subjects.HookAfterToolCall:
				var e AfterToolCall
				e, err = DecodeAfterToolCall(env.Event)
				require.NotEmpty(t, e.ToolName)
				require.NotEmpty(t, e.Text)
			case subjects.HookAgentEnd:
				var e AgentEnd
				e, err = DecodeAgentEnd(env.Event)
				result, failure := e.Outcome()
				// The aborted run has neither an answer nor an error of its own.
				require.Equal(t, ctx.RunID == "s7", result+failure == "")
			case subjects.HookSessionEnd:
				var e SessionEnd
				e, err = DecodeSessionEnd(env.Event)
				require.NotEmpty(t, e.Reason)
			}
			require.NoError(t, err)
		}
	}
}

func TestCatalogueKnowsEveryCapturedHook(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "openclaw", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 38)
	for _, f := range files {
		hook := strings.TrimSuffix(filepath.Base(f), ".json")
		require.NotEqual(t, subjects.Unknown, subjects.KindOf(hook), hook)
	}
}

func FuzzEnvelope(f *testing.F) {
	for _, hook := range []string{subjects.HookBeforePromptBuild, subjects.HookAfterToolCall, subjects.HookAgentEnd, subjects.HookSessionEnd} {
		for _, env := range captured(f, hook) {
			env.TS, env.ID = 1, "x"
			data, err := json.Marshal(env)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Add([]byte(`{"hook":"x","event":{"error":{}},"ctx":{"inputProvenance":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeEvent("", "id", data)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		for _, decode := range []func() error{
			func() error { _, err := DecodeContext(e.Ctx); return err },
			func() error { _, err := DecodeBeforePromptBuild(e.Event); return err },
			func() error { _, err := DecodeAfterToolCall(e.Event); return err },
			func() error { v, err := DecodeAgentEnd(e.Event); _, _ = v.Outcome(); return err },
			func() error { _, err := DecodeSessionEnd(e.Event); return err },
			func() error { _, err := DecodeTurnBegun(e.Event); return err },
		} {
			if err := decode(); err != nil {
				require.ErrorIs(t, err, ErrInvalid)
			}
		}
	})
}

func BenchmarkDecodeBeforePromptBuild(b *testing.B) {
	env := captured(b, subjects.HookBeforePromptBuild)[1]
	data, err := json.Marshal(env)
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		e, err := DecodeRequest(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := DecodeContext(e.Ctx); err != nil {
			b.Fatal(err)
		}
		if _, err := DecodeBeforePromptBuild(e.Event); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeAgentEnd(b *testing.B) {
	for _, row := range []struct {
		name  string
		turns int
	}{{"small", 4}, {"8MB", 20_000}} {
		b.Run(row.name, func(b *testing.B) {
			var event strings.Builder
			event.WriteString(`{"success":true,"messages":[`)
			for i := range row.turns {
				if i > 0 {
					event.WriteByte(',')
				}
				event.WriteString(`{"role":"user","content":"` + strings.Repeat("what is it? ", 15) + `"},{"role":"assistant","content":[{"type":"text","text":"` + strings.Repeat("this it is. ", 8) + `"}],"stopReason":"stop"}`)
			}
			event.WriteString(`]}`)
			data := []byte(`{"hook":"agent_end","ts":1763680000123,"id":"x","ctx":{},"event":` + event.String() + `}`)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				env, err := DecodeEvent("", "", data)
				if err != nil {
					b.Fatal(err)
				}
				e, err := DecodeAgentEnd(env.Event)
				if err != nil {
					b.Fatal(err)
				}
				if result, _ := e.Outcome(); result == "" {
					b.Fatal("no result")
				}
			}
		})
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range []string{
		`{}`, ` [1, -2.5e+3, true, null, "a\u00e9\n"] `, `01`, `1.`, `-`, `1e`, `"\x"`, `"\u12"`, "\"\x01\"", "\"\xff\"", `{"a":1,}`, `[1 2]`, `tru`, `{"a" 1}`, `{} {}`, "", " ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { require.Equal(t, json.Valid(data), valid(data)) })
}

func TestDeepNesting(t *testing.T) {
	deep := strings.Repeat("[", 4<<20)
	_, err := DecodeRequest([]byte(`{"hook":"h","ctx":{},"event":{"a":` + deep))
	require.ErrorIs(t, err, ErrInvalid)
	nested := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	_, err = DecodeRequest([]byte(`{"hook":"h","ctx":{},"event":{"a":` + nested + `}}`))
	require.NoError(t, err)
}

func TestEmptyTrigger(t *testing.T) {
	for text, want := range map[string]bool{`{}`: false, `{"trigger":null}`: false, `{"trigger":"user"}`: false, `{"trigger":""}`: true} {
		ctx, err := DecodeContext(json.RawMessage(text))
		require.NoError(t, err)
		require.Equal(t, want, ctx.EmptyTrigger, text)
	}
}

func TestFlagsOfAContext(t *testing.T) {
	for _, row := range []struct {
		name, value string
		want        bool
		fault       string // "" for none
	}{
		{"set", `true`, true, ""},
		{"not set", `false`, false, ""},
		{"null", `null`, false, ""},
		{"text", `"yes"`, false, "must be a boolean, not a string"},
		{"a number", `1`, false, "must be a boolean, not a number"},
		{"an object", `{}`, false, "must be a boolean, not an object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for field, flag := range map[string]func(Context) bool{
				"keepsHints":  func(c Context) bool { return c.KeepsHints },
				"recallLater": func(c Context) bool { return c.RecallsLater },
			} {
				raw := json.RawMessage(`{"` + field + `":` + row.value + `}`)
				ctx, err := DecodeContext(raw)
				require.NoError(t, err, "unknown in an event")
				require.Zero(t, ctx)
				ctx, err = DecodeRequestContext(raw)
				if row.fault != "" {
					require.ErrorIs(t, err, ErrInvalid)
					require.ErrorContains(t, err, field+" of ctx "+row.fault)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, row.want, flag(ctx), field)
			}
		})
	}
	absent, err := DecodeRequestContext(json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Zero(t, absent)
}

func TestOfPerson(t *testing.T) {
	for _, row := range []struct {
		name string
		ctx  Context
		want bool
	}{
		{"a user's message", Context{Trigger: "user", SessionKey: "agent:main:telegram:direct:1"}, true},
		{"a gateway without triggers", Context{}, true},
		{"another provenance", Context{Provenance: Provenance{Kind: "internal_system"}}, true},
		{"an id that only holds the word", Context{SessionID: "my-active-memory-1"}, true},
		{"a key that ends with the word", Context{SessionKey: "agent:main:direct:subagent"}, true},
		{"a heartbeat", Context{Trigger: "heartbeat"}, false},
		{"an empty trigger", Context{EmptyTrigger: true}, false},
		{"another session's", Context{Trigger: "user", Provenance: Provenance{Kind: InterSession}}, false},
		{"a subagent", Context{SessionKey: "agent:main:SubAgent:1"}, false},
		{"the memory by key", Context{SessionKey: "agent:main:active-memory:1"}, false},
		{"the memory by id", Context{SessionID: "active-memory-1"}, false},
		{"this system by key", Context{SessionKey: "agent:main:intention-hint:1"}, false},
		{"this system by id", Context{SessionID: "intention-hint-1"}, false},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, row.ctx.OfPerson()) })
	}
}
