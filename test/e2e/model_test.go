//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"intenthint/model/provider/providertest"
)

// model is a scripted model provider with two names: mock is an
// openai-completions API, claude an anthropic-messages API.
type model struct {
	*providertest.Server
}

func newModel(t *testing.T) model {
	t.Helper()
	return model{providertest.New(t)}
}

// settings returns those of a system that asks mock/first in the mode.
func (m model) settings(mode string) settings {
	return settings{
		"HINT_CLASSIFIER": mode,
		"HINT_MODEL":      "mock/first",
		"HINT_PROVIDERS":  m.providers(),
	}
}

func (m model) providers() string {
	return asJSON(object{
		"mock":   object{"baseUrl": m.OpenAIURL(), "api": "openai-completions"},
		"claude": object{"baseUrl": m.AnthropicURL(), "api": "anthropic-messages", "apiKeyEnv": "MOCK_KEY"},
	})
}

// answered is a valid answer of a model after some time.
func answered(intent string, after time.Duration) providertest.Answer {
	return providertest.Answer{Delay: after, Text: asJSON(object{
		"intent": intent, "reason": "the test says so", "goal": "pass the test", "confidence": 0.87,
		"complexity": "medium", "suggestion": "carry on",
	})}
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
