package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider/providertest"
)

func TestKnowHubExtract(t *testing.T) {
	t.Parallel()
	model := providertest.New(t)
	model.Always(providertest.Answer{Text: `{"experiences": [{"task": "Fix a checksum error of the Go build", "resource": "go clean", "result": "Cleaning the module cache solved it", "confidence": 0.9}]}`})
	s := start(t, map[string]string{
		"HINT_PROVIDERS": `{"mock":{"baseUrl":"` + model.OpenAIURL() + `","api":"openai-completions"}}`,
		"HINT_KNOWHUB":   `{"enabled": true, "listen": "127.0.0.1:0", "model": "mock/small"}`,
	})
	told := func(id, ctx string) {
		body := fmt.Sprintf(`{"hook": "agent_end", "ts": 1763680000123, "id": %q, "ctx": {"agentId": "main", "sessionId": %q, "trigger": "user", %s},
			"event": {"success": true, "messages": [{"role": "user", "content": "The build of the shop fails with a checksum error."},
			{"role": "assistant", "content": "I cleaned the module cache, and the build passes now."}]}}`, id, id, ctx)
		_, err := s.JS.Publish(t.Context(), "openclaw.event.agent_end.main."+id, []byte(body))
		require.NoError(t, err)
	}
	told("e1", `"sessionKey": "agent:main:main"`)
	told("e2", `"sessionKey": "agent:main:main"`)
	told("e3", `"sessionKey": "agent:main:telegram:group:-1"`) // a chat type without hints
	code, _, stderr := s.command("knowhub", "extract", "--since", "1h")
	require.Equal(t, 1, code)
	require.Regexp(t, `2 turns to mock/small: 2 calls, about [1-9]\d* input tokens \([1-9]\d* bytes of prompts, 4 bytes per token\)`, stderr)
	require.Contains(t, stderr, "nothing was asked: standard input is not a terminal, add --yes")
	require.Zero(t, model.Count())

	require.Equal(t, "1 experience from 2 turns\n", s.works("extract", "--since", "1h", "--yes"))
	require.Equal(t, 2, model.Count())
	require.Contains(t, s.works("ls"), "Fix a checksum error")
	require.Equal(t, "no recorded turn is left to read\n", s.works("extract", "--since", "1h", "--yes"))
	told("e4", `"sessionKey": "agent:main:main"`)
	require.Equal(t, "no recorded turn is left to read\n", s.works("extract", "--since", time.Now().Add(time.Hour).Format(time.RFC3339), "--yes"))
	model.Always(providertest.Answer{Status: 500})
	code, _, stderr = s.command("knowhub", "extract", "--since", "1h", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "1 turn not read, the same command continues with them")
	model.Always(providertest.Answer{Text: `{"experiences": []}`})
	require.Equal(t, "0 experiences from 1 turn\n", s.works("extract", "--since", "1h", "--yes"))

	env := s.env.with("HINT_KNOWHUB", `{"enabled": true}`)
	none := &system{s.System, t, env}
	code, _, stderr = none.command("knowhub", "extract", "--since", "1h", "--yes")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "no model is configured")
}
