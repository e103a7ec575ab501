package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/model/provider/providertest"
)

// A model that answers typed questions classifies without a prompt; its probability is
// the confidence. If it fails, the fallback is asked.
func TestSystemOneClassifies(t *testing.T) {
	t.Parallel()
	model := providertest.New(t)
	choice := func(label string, p float64) map[string]any {
		return map[string]any{"type": "choice", "choice": label, "confidence": p, "probabilities": map[string]float64{label: p}}
	}
	model.Handle(func(r providertest.Request) providertest.Answer {
		if strings.HasSuffix(r.Path, "/chat/completions") {
			return providertest.Answer{Text: strings.Replace(apptest.HintAnswer, "CHAT", "MONEY", 1)}
		}
		answers := map[string]any{"intent": choice("WEATHER", 0.83), "complexity": choice("high", 0.5)}
		switch {
		case strings.Contains(r.User, "unknown intent"):
			answers["intent"] = choice("NO_SUCH", 0.9)
		case strings.Contains(r.User, "who knows"):
			return providertest.Answer{Status: 422, Body: `{}`}
		}
		text, _ := json.Marshal(answers)
		return providertest.Answer{Text: string(text)}
	})
	settings := map[string]string{
		"HINT_CLASSIFIER": "llm", "HINT_MODEL": "wire/one",
		"HINT_PROVIDERS":   fmt.Sprintf(`{"wire":{"baseUrl":%q,"api":"systemone"},"chat":{"baseUrl":%q}}`, model.AnthropicURL(), model.OpenAIURL()),
		"HINT_INTENTS_DIR": apptest.WriteIntents(t),
	}
	alone := apptest.Start(t, settings)
	reply := alone.Ask(alone.Prompt("s", "r1", "will it rain"), time.Minute)
	require.Equal(t, []string{"WEATHER", "0.83", "systemone", "wire/one"},
		[]string{reply.Header.Get("Hint-Intent"), reply.Header.Get("Hint-Confidence"), reply.Header.Get("Hint-Source"), reply.Header.Get("Hint-Model")})
	sent := model.Requests()[0]
	require.Equal(t, "/v1/systemone", sent.Path)
	var body struct {
		State     struct{ Latest string }
		Questions map[string]struct {
			Type     string
			Criteria map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(sent.Body, &body))
	require.Equal(t, "will it rain", body.State.Latest)
	require.Equal(t, "choice", body.Questions["intent"].Type)
	require.Contains(t, body.Questions["intent"].Criteria, "WEATHER")
	require.Contains(t, body.Questions["intent"].Criteria, "OTHER")
	require.Len(t, body.Questions["complexity"].Criteria, 3)
	for _, said := range []string{"unknown intent", "who knows"} {
		reply := alone.Ask(alone.Prompt("s", said, said), time.Minute)
		require.Equal(t, "classify_failed", reply.Header.Get("Hint-Skip"), said)
	}

	settings["HINT_MODEL_FALLBACK"] = "chat/small"
	both := apptest.Start(t, settings)
	reply = both.Ask(both.Prompt("s", "r2", "who knows"), time.Minute)
	require.Equal(t, []string{"MONEY", "llm", "chat/small"}, []string{reply.Header.Get("Hint-Intent"), reply.Header.Get("Hint-Source"), reply.Header.Get("Hint-Model")})
}
