package payload

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodersRefuseWrongTypes(t *testing.T) {
	t.Parallel()
	for name, decode := range map[string]func(json.RawMessage) error{
		"before_prompt_build": func(raw json.RawMessage) error { _, err := DecodeBeforePromptBuild(raw); return err },
		"after_tool_call":     func(raw json.RawMessage) error { _, err := DecodeAfterToolCall(raw); return err },
		"agent_end":           func(raw json.RawMessage) error { _, err := DecodeAgentEnd(raw); return err },
		"session_end":         func(raw json.RawMessage) error { _, err := DecodeSessionEnd(raw); return err },
		"turn_begun":          func(raw json.RawMessage) error { _, err := DecodeTurnBegun(raw); return err },
		"feedback":            func(raw json.RawMessage) error { _, err := DecodeFeedback(raw); return err },
	} {
		field := map[string]string{"before_prompt_build": "prompt", "session_end": "reason", "feedback": "kind"}[name]
		if field == "" {
			field = "runId"
		}
		require.ErrorIs(t, decode(json.RawMessage(`{"`+field+`":5}`)), ErrInvalid, name)
		require.ErrorIs(t, decode(json.RawMessage(`[]`)), ErrInvalid, name)
	}
}
