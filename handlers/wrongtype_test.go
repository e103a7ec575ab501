package handlers

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

// wrongTypes has, for each hook in [observations], an event that becomes a fact,
// and for each of its fields values of another type.
var wrongTypes = map[string]struct {
	event string
	wrong map[string][]string
}{
	"turn_begun": {`{"runId":"r","prompt":"q"}`, map[string][]string{
		"runId": {`5`}, "prompt": {`5`, `["q"]`}, "message": {`{}`}, "hint": {`5`}, "skip": {`true`}, "earlier": {`"3"`}, "heldOut": {`"true"`},
		"conversation": {`"x"`, `["x"]`, `[{"role":5}]`, `[{"role":"user","text":5}]`},
		"result":       {`"NOTE"`, `{"intent":5}`, `{"name":5}`, `{"reason":5}`, `{"goal":5}`, `{"confidence":"0.9"}`, `{"complexity":5}`, `{"source":5}`, `{"elapsedMs":"1"}`, `{"tokens":5}`, `{"tokens":{"in":"5"}}`},
		"last":         {`5`, `{"intent":5}`, `{"turns":"5"}`, `{"at":"5"}`, `{"bytes":"5"}`},
		"kept":         {`5`, `{"bytes":"5"}`, `{"since":"5"}`, `{"prompts":5}`, `{"prompts":[5]}`, `{"prompts":[{"text":5}]}`, `{"prompts":[{"at":"5"}]}`},
		"modelUse":     {`5`, `{"calls":"5"}`, `{"out":"5"}`},
	}},
	"before_prompt_build": {`{"prompt":"q"}`, map[string][]string{
		"prompt": {`5`, `null`}, "currentUserMessage": {`5`},
		"messages": {`"x"`, `["x"]`, `[{"role":5}]`, `[{"stopReason":5}]`, `[{"errorMessage":5}]`},
	}},
	"after_tool_call": {`{"toolName":"read"}`, map[string][]string{
		"toolName": {`5`}, "runId": {`5`}, "toolCallId": {`5`}, "durationMs": {`"5"`}, "error": {`5`},
	}},
	"agent_end": {`{"messages":[]}`, map[string][]string{
		"runId": {`5`}, "error": {`5`}, "messages": {`{}`, `["x"]`, `[{"role":5}]`},
	}},
	"feedback": {`{"kind":"hint","runId":"r","verdict":"right"}`, map[string][]string{
		"kind": {`5`}, "messageId": {`5`}, "group": {`5`}, "runId": {`5`}, "verdict": {`true`}, "intent": {`5`}, "by": {`{}`},
	}},
	"llm_output": {`{"runId":"r","usage":{"input":1}}`, map[string][]string{
		"runId": {`5`}, "provider": {`5`}, "model": {`5`}, "resolvedRef": {`5`}, "reasoningEffort": {`5`}, "usage": {`5`, `{"input":"5"}`, `{"output":"5"}`, `{"cacheRead":"5"}`, `{"cacheWrite":"5"}`},
	}},
	"model_call_ended": {`{"runId":"r"}`, map[string][]string{
		"runId": {`5`}, "provider": {`5`}, "model": {`5`},
	}},
	"session_end": {`{"reason":"new"}`, map[string][]string{
		"reason": {`5`}, "sessionId": {`5`}, "sessionKey": {`5`},
	}},
}

// wrongContext has values of another type for the fields of a context that a fact
// depends on.
var wrongContext = map[string][]string{
	"runId": {`5`}, "agentId": {`5`}, "sessionId": {`5`, `["s"]`}, "sessionKey": {`5`}, "trigger": {`5`}, "toolName": {`5`}, "toolCallId": {`5`}, "inputProvenance": {`"x"`, `{"kind":5}`},
}

// with returns a JSON object with one field set.
func with(t *testing.T, object, field, value string) string {
	t.Helper()
	fields := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal([]byte(object), &fields))
	fields[field] = json.RawMessage(value)
	out, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(out)
}

// A field of the wrong type is final: the event must become a dead letter and not
// be applied with the field empty.
func TestWrongTypesAreInvalid(t *testing.T) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(observations)), slices.Collect(maps.Keys(wrongTypes)), "a row for every observed hook")
	const ctx = `{"sessionId":"s","runId":"r"}`
	for hook, row := range wrongTypes {
		t.Run(hook, func(t *testing.T) {
			session, _, _, err := decoder.Fact("", "", event(hook, row.event, ctx))
			require.NoError(t, err)
			require.Equal(t, "s", session)
			refuses := func(body []byte) {
				t.Helper()
				session, named, fact, err := decoder.Fact("", "", body)
				require.ErrorIs(t, err, payload.ErrInvalid, "%s", body)
				require.Empty(t, session, "%s", body)
				require.Equal(t, hook, named, "%s", body)
				require.Zero(t, fact, "%s", body)
			}
			for field, values := range row.wrong {
				for _, value := range values {
					refuses(event(hook, with(t, row.event, field, value), ctx))
				}
			}
			for field, values := range wrongContext {
				for _, value := range values {
					refuses(event(hook, row.event, with(t, ctx, field, value)))
				}
			}
		})
	}
}
