package payload_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

func TestEncodingAgreesWithEncodingJSON(t *testing.T) {
	nasty := "line\nquote\" back\\ tab\t <b> & 花 \xff \x01"
	full := payload.Context{
		RunID: "r", AgentID: "a", SessionKey: "k", SessionID: "s", Trigger: "user", Channel: "c", MessageProvider: "p", ChannelID: "ci",
		ChatID: "ch", SenderID: nasty, ToolName: "t", ToolCallID: "tc", ModelProviderID: "mp", ModelID: "m", Provenance: payload.Provenance{Kind: "external"},
	}
	result := payload.Classification{
		Intent: "I", Name: nasty, Reason: "because", Goal: "g", Confidence: 0.1234567890123, Complexity: "low",
		Suggestion: "s", Source: "llm", Model: "p/m", ElapsedMs: 12.345, RunnerUp: "J", RunnerUpConfidence: 0.21, ModelCalls: 2, Tokens: &payload.Tokens{In: 1200, Out: 34},
	}
	for name, tc := range map[string]struct {
		ctx   payload.Context
		event payload.TurnBegun
	}{
		"nothing":     {},
		"everything":  {full, payload.TurnBegun{RunID: "r", Prompt: nasty, Message: nasty + "!", Conversation: []payload.Turn{{Role: "user", Text: nasty}, {Role: "assistant"}}, Result: &result, Hint: nasty, Skip: "low_confidence", HeldOut: new(true)}},
		"a failure":   {full, payload.TurnBegun{Skip: "deadline", HeldOut: new(false), ModelUse: &payload.ModelUse{Calls: 2, Failed: 2, Tokens: payload.Tokens{In: 900}}}},
		"an answer":   {full, payload.TurnBegun{ModelUse: &payload.ModelUse{Calls: 1, Tokens: payload.Tokens{In: 900, Out: 60}}}},
		"no history":  {full, payload.TurnBegun{Prompt: "and now?", Earlier: 3}},
		"a hint":      {full, payload.TurnBegun{Last: &payload.LastHint{Intent: "I", Complexity: "low", Text: "t", Full: true, Turns: 3, At: 9}}},
		"a brief one": {full, payload.TurnBegun{Last: &payload.LastHint{Intent: "I", Complexity: "low", Text: "t"}}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(map[string]any{"hook": "turn_begun", "id": "i", "ts": 1763680000123, "ctx": tc.ctx, "event": tc.event})
			require.NoError(t, err)
			got := payload.EncodeTurnBegun("i", 1763680000123, tc.ctx, tc.event, 0)
			require.JSONEq(t, string(want), string(got))

			env, err := payload.DecodeEvent("", "", got)
			require.NoError(t, err)
			var event payload.TurnBegun
			require.NoError(t, json.Unmarshal(env.Event, &event))
			decoded, err := payload.DecodeTurnBegun(env.Event)
			require.NoError(t, err)
			require.Equal(t, event, decoded)
		})
	}
}

func TestEncodeTurnBegun(t *testing.T) {
	turns := []payload.Turn{{Role: "user", Text: strings.Repeat("a", 100)}, {Role: "assistant", Text: strings.Repeat("\n", 50)}, {Role: "user", Text: "c"}}
	of := func(prompt string, turns ...payload.Turn) int {
		return len(payload.EncodeTurnBegun("i", 1763680000123, payload.Context{}, payload.TurnBegun{Prompt: prompt, Conversation: turns}, 0))
	}
	const prompt = `remind "me" of 記憶 tomorrow at ten`
	for _, row := range []struct {
		name   string
		limit  int
		turns  int // of the newest
		prompt string
	}{
		{"no limit", 0, 3, prompt},
		{"room for all", of(prompt, turns...), 3, prompt},
		{"a byte less", of(prompt, turns...) - 1, 2, prompt},
		{"room for two", of(prompt, turns[1:]...), 2, prompt},
		{"room for one", of(prompt, turns[1:]...) - 1, 1, prompt},
		{"room for no turn", of(prompt, turns[2:]...) - 1, 0, prompt},
		{"room for the prompt", of(prompt), 0, prompt},
		{"a byte less than the prompt", of(prompt) - 1, 0, `remind "me" of 記憶 (truncated...)`},
		{"a cut in a character", of(`remind "me" of 記憶 (truncated...)`) - 2, 0, `remind "me" of 記 (truncated...)`},
		{"a cut in an escape", of(`remind " (truncated...)`) - 1, 0, `remind  (truncated...)`},
		{"no room at all", 1, 0, ` (truncated...)`},
	} {
		t.Run(row.name, func(t *testing.T) {
			body := payload.EncodeTurnBegun("i", 1763680000123, payload.Context{}, payload.TurnBegun{Prompt: prompt, Conversation: turns}, row.limit)
			env, err := payload.DecodeEvent("", "", body)
			require.NoError(t, err)
			event, err := payload.DecodeTurnBegun(env.Event)
			require.NoError(t, err)
			require.Equal(t, row.prompt, event.Prompt)
			require.Len(t, event.Conversation, row.turns)
			require.Equal(t, turns[len(turns)-row.turns:], append([]payload.Turn{}, event.Conversation...))
			if row.limit > 1 {
				require.LessOrEqual(t, len(body), row.limit)
			}
		})
	}
}

func FuzzEncodeTurnBegun(f *testing.F) {
	f.Add("prompt", "first", "second", 150)
	f.Add("\"\x01\xff記", "\n", "", 90)
	f.Add("prompt", "a longer message than the prompt", "", 130)
	f.Fuzz(func(t *testing.T, prompt, first, second string, limit int) {
		event := payload.TurnBegun{Prompt: prompt, Message: first, Conversation: []payload.Turn{{Role: "user", Text: first}, {Role: "assistant", Text: second}}}
		body := payload.EncodeTurnBegun("i", 1763680000123, payload.Context{}, event, limit)
		require.True(t, json.Valid(body))
		least := len(payload.EncodeTurnBegun("i", 1763680000123, payload.Context{}, payload.TurnBegun{Prompt: " (truncated...)", Message: " (truncated...)"}, 0))
		if limit >= least {
			require.LessOrEqual(t, len(body), limit)
		}
	})
}

func TestDecodeTurnBegunRefuses(t *testing.T) {
	for name, event := range map[string]string{
		"not an object":             `[]`,
		"prompt is a number":        `{"prompt":1}`,
		"conversation is a text":    `{"conversation":"x"}`,
		"a turn is a text":          `{"conversation":["x"]}`,
		"a turn's text is a number": `{"conversation":[{"text":1}]}`,
		"result is a text":          `{"result":"x"}`,
		"confidence is a text":      `{"result":{"confidence":"high"}}`,
		"the intent is an object":   `{"result":{"intent":{}}}`,
		"the hint is a list":        `{"hint":[]}`,
		"held out is a text":        `{"heldOut":"yes"}`,
		"the tokens are a number":   `{"result":{"tokens":9}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := payload.DecodeTurnBegun(json.RawMessage(event))
			require.ErrorIs(t, err, payload.ErrInvalid)
		})
	}
}

func TestNaNAndInfinityAreEncodedAsZero(t *testing.T) {
	body := payload.EncodeTurnBegun("i", 1763680000123, payload.Context{}, payload.TurnBegun{Result: &payload.Classification{Confidence: math.NaN(), RunnerUp: "J", RunnerUpConfidence: math.Inf(-1), ElapsedMs: math.Inf(1)}}, 0)
	env, err := payload.DecodeEvent("", "", body)
	require.NoError(t, err)
	event, err := payload.DecodeTurnBegun(env.Event)
	require.NoError(t, err)
	require.Zero(t, event.Result.Confidence)
	require.Zero(t, event.Result.ElapsedMs)
}

func TestJSONKeepsMarkup(t *testing.T) {
	require.Equal(t, `"<a> & \"b\""`, string(payload.JSON(`<a> & "b"`)))
}

func BenchmarkDecodeTurnBegun(b *testing.B) {
	body := payload.EncodeTurnBegun("i", 1763680000123, payload.Context{RunID: "r", SessionID: "s", SessionKey: "k", AgentID: "main"}, payload.TurnBegun{
		RunID: "r", Prompt: "remind me", Hint: strings.Repeat("a hint of many words,\n", 90),
		Result:       &payload.Classification{Intent: "I", Name: "Intent", Reason: "because of a word", Goal: "remind me", Complexity: "low", Source: "local"},
		Conversation: []payload.Turn{{Role: "user", Text: "good morning"}, {Role: "assistant", Text: "Good morning! What can I do for you?"}},
	}, 0)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		env, err := payload.DecodeEvent("", "", body)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := payload.DecodeTurnBegun(env.Event); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeTurnBegun(b *testing.B) {
	event := payload.TurnBegun{RunID: "r", Prompt: "remind me", Hint: strings.Repeat("a hint of many words, ", 90), Result: &payload.Classification{Intent: "I"}}
	b.ReportAllocs()
	for b.Loop() {
		payload.EncodeTurnBegun("i", 1763680000123, payload.Context{RunID: "r", SessionID: "s"}, event, 0)
	}
}
