package app_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a gateway tells of the agent's own model stands in its turn, each event once,
// and without its texts.
func TestTheAgentsUseOfItsModel(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	request := s.Prompt("s1", "r1", "please write a unit test for the parser")
	s.Ask(request, time.Minute)
	tell := func(hook, id, event string) {
		env := s.Prompt("s1", "r1", "")
		env.Hook, env.ID, env.Event = hook, id, json.RawMessage(event)
		s.Tell(env)
	}
	for range 2 {
		tell("model_call_ended", "call-1", `{"runId":"r1","callId":"r1:model:1","provider":"mock","model":"mock-1","outcome":"completed"}`)
		tell("llm_output", "attempt-1", `{"runId":"r1","resolvedRef":"mock/mock-1","reasoningEffort":"low","assistantTexts":["secret words"],"usage":{"input":240,"output":24,"cacheRead":3,"cacheWrite":2,"total":269}}`)
	}
	tell("llm_output", "attempt-2", `{"runId":"r1","resolvedRef":"mock/mock-1","usage":{"input":10,"output":1}}`)
	var used []any
	s.Eventually("three events are in the turn", func() bool {
		turn, _ := s.Document("s1")["current"].(map[string]any)
		used, _ = turn["agentUse"].([]any)
		return len(used) >= 3
	})
	require.Len(t, used, 3)
	call, first := used[0].(map[string]any), used[1].(map[string]any)
	require.InDelta(t, 1, call["calls"], 0)
	require.Equal(t, map[string]any{"input": 240.0, "output": 24.0, "cacheRead": 3.0, "cacheWrite": 2.0}, first["tokens"])
	require.Equal(t, []any{"mock/mock-1", "low"}, []any{first["model"], first["effort"]})
	raw, err := json.Marshal(s.Document("s1"))
	require.NoError(t, err)
	require.NotContains(t, string(raw), "secret words")
}
