package payload

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeLLMOutput(t *testing.T) {
	for _, row := range []struct {
		name, event string
		run         string
		want        AgentUse
	}{
		{"as a gateway sends it", `{"runId":"r1","provider":"mock","model":"mock-1","resolvedRef":"mock/mock-1","reasoningEffort":"low","assistantTexts":["a"],"usage":{"input":240,"output":24,"cacheRead":3,"cacheWrite":2,"total":269,"cost":{"total":0}}}`, "r1", AgentUse{Model: "mock/mock-1", Effort: "low", Tokens: &AgentTokens{240, 24, 3, 2}}},
		{"without a reference", `{"runId":"r1","provider":"mock","model":"mock-1","usage":{"input":1}}`, "r1", AgentUse{Model: "mock/mock-1", Tokens: &AgentTokens{Input: 1}}},
		{"without tokens", `{"runId":"r1"}`, "r1", AgentUse{}},
		{"null", `{"runId":"r1","usage":null}`, "r1", AgentUse{}},
		{"numbers that are no counts", `{"usage":{"input":-5,"output":1e300}}`, "", AgentUse{Tokens: &AgentTokens{Output: maxTokens}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			run, use, err := DecodeLLMOutput(json.RawMessage(row.event))
			require.NoError(t, err)
			require.Equal(t, row.run, run)
			require.Equal(t, row.want, use)
		})
	}
	_, _, err := DecodeLLMOutput(json.RawMessage(`{"usage":{"input":"many"}}`))
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "usage.input")
}

func TestDecodeModelCallEnded(t *testing.T) {
	run, use, err := DecodeModelCallEnded(json.RawMessage(`{"runId":"r1","callId":"r1:model:1","provider":"mock","model":"mock-1","outcome":"error"}`))
	require.NoError(t, err)
	require.Equal(t, "r1", run)
	require.Equal(t, AgentUse{Model: "mock/mock-1", Calls: 1}, use)
}
