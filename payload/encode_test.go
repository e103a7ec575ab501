package payload_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", `"\\`, "a\nb\r\t\x00\x1f\x7f", "\xff\xfeé\xc3", "花\u2028😀", "<script>&"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		require.NoError(t, json.Unmarshal(payload.AppendString(nil, s), &back))
		require.Equal(t, string([]rune(s)), back)
	})
}

func TestWhatIsAppendedIsWhatEncodingJSONWrites(t *testing.T) {
	nasty := "line\nquote\" back\\ tab\t <b> & 花 \xff \x01"
	full := payload.Context{
		RunID: "r", AgentID: "a", SessionKey: "k", SessionID: "s", Trigger: "user", Channel: "c", MessageProvider: "p", ChannelID: "ci",
		ChatID: "ch", SenderID: nasty, ToolName: "t", ToolCallID: "tc", ModelProviderID: "mp", ModelID: "m", Provenance: payload.Provenance{Kind: "external"},
	}
	result := payload.Classification{
		Intent: "I", Name: nasty, Reason: "because", Goal: "g", Confidence: 0.1234567890123, Complexity: "low",
		Suggestion: "s", Source: "llm", Model: "p/m", ElapsedMs: 12.345,
	}
	for name, tc := range map[string]struct {
		ctx   payload.Context
		event payload.TurnBegun
	}{
		"nothing":    {},
		"everything": {full, payload.TurnBegun{RunID: "r", Prompt: nasty, Conversation: []payload.Turn{{Role: "user", Text: nasty}, {Role: "assistant"}}, Result: &result, Hint: nasty, Skip: "low_confidence"}},
		"a failure":  {full, payload.TurnBegun{Skip: "deadline"}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(map[string]any{"hook": "turn_begun", "id": "i", "ts": 7, "ctx": tc.ctx, "event": tc.event})
			require.NoError(t, err)
			got := payload.AppendTurnBegun(nil, "turn_begun", "i", 7, tc.ctx, tc.event)
			require.JSONEq(t, string(want), string(got))

			env, err := payload.DecodeEvent(got, "")
			require.NoError(t, err)
			var event payload.TurnBegun
			require.NoError(t, json.Unmarshal(env.Event, &event))
			decoded, err := payload.DecodeTurnBegun(env.Event)
			require.NoError(t, err)
			require.Equal(t, event, decoded)
		})
	}
}

func TestTurnBegunOfAWrongShape(t *testing.T) {
	for name, event := range map[string]string{
		"no object":                 `[]`,
		"prompt is a number":        `{"prompt":1}`,
		"conversation is a text":    `{"conversation":"x"}`,
		"a turn is a text":          `{"conversation":["x"]}`,
		"a turn's text is a number": `{"conversation":[{"text":1}]}`,
		"result is a text":          `{"result":"x"}`,
		"confidence is a text":      `{"result":{"confidence":"high"}}`,
		"the intent is an object":   `{"result":{"intent":{}}}`,
		"the hint is a list":        `{"hint":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := payload.DecodeTurnBegun(json.RawMessage(event))
			require.ErrorIs(t, err, payload.ErrInvalid)
		})
	}
}

func TestNumbersThatJSONLacks(t *testing.T) {
	out := payload.Classification{Confidence: math.NaN(), ElapsedMs: math.Inf(1)}.Append(nil)
	require.True(t, json.Valid(out), string(out))
}

func BenchmarkDecodeTurnBegun(b *testing.B) {
	body := payload.AppendTurnBegun(nil, "turn_begun", "i", 7, payload.Context{RunID: "r", SessionID: "s", SessionKey: "k", AgentID: "main"}, payload.TurnBegun{
		RunID: "r", Prompt: "remind me", Hint: strings.Repeat("a hint of many words,\n", 90),
		Result:       &payload.Classification{Intent: "I", Name: "Intent", Reason: "because of a word", Goal: "remind me", Complexity: "low", Source: "local"},
		Conversation: []payload.Turn{{Role: "user", Text: "good morning"}, {Role: "assistant", Text: "Good morning! What can I do for you?"}},
	})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		env, err := payload.DecodeEvent(body, "")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := payload.DecodeTurnBegun(env.Event); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendTurnBegun(b *testing.B) {
	event := payload.TurnBegun{RunID: "r", Prompt: "remind me", Hint: strings.Repeat("a hint of many words, ", 90), Result: &payload.Classification{Intent: "I"}}
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = payload.AppendTurnBegun(buf[:0], "turn_begun", "i", 7, payload.Context{RunID: "r", SessionID: "s"}, event)
	}
}
