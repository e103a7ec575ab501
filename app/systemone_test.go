package app_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/model/provider/providertest"
	"intenthint/triage"
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

// deciding returns a server of the wire that says how likely yes is, and settings that
// name it and a chat model.
func deciding(t *testing.T, p float64, chat string) (*providertest.Server, map[string]string) {
	t.Helper()
	model := providertest.New(t)
	model.Handle(func(r providertest.Request) providertest.Answer {
		if strings.HasSuffix(r.Path, "/chat/completions") {
			return providertest.Answer{Text: chat}
		}
		return providertest.Answer{Text: fmt.Sprintf(`{"answer":{"type":"noul","noul":%v}}`, p)}
	})
	return model, map[string]string{
		"HINT_PROVIDERS":  fmt.Sprintf(`{"wire":{"baseUrl":%q,"api":"systemone"},"chat":{"baseUrl":%q}}`, model.AnthropicURL(), model.OpenAIURL()),
		"HINT_CLASSIFIER": "local",
	}
}

// The gate of groups asks one typed question, of its own model or of HINT_MODEL.
func TestSystemOneTriages(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][2]string{
		"its own model": {"", `{"enabled":true,"triageModel":"wire/one"}`},
		"HINT_MODEL":    {"wire/one", `{"enabled":true}`},
	} {
		model, settings := deciding(t, 0.03, "RESPOND")
		settings["HINT_MODEL"], settings["HINT_MODEL_FALLBACK"], settings["HINT_TRIAGE"] = more[0], "chat/small", more[1]
		s := apptest.Start(t, settings)
		reply := s.Ask(dispatched("1", "Lunch at noon?"), time.Minute)
		require.Equal(t, `skip model {"handled":true}`, triageReply(reply), name)
		require.Equal(t, "wire/one", reply.Header.Get(triage.HeaderModel), name)
		require.Equal(t, 1, model.Count(), name)
		require.Equal(t, "/v1/systemone", model.Requests()[0].Path, name)
	}
}

// A model that answers typed questions reports whether a chat model is asked for
// experiences.
func TestSystemOneGuardsExtraction(t *testing.T) {
	t.Parallel()
	const found = `{"experiences": [{"task": "Fix a checksum error of the Go build", "resource": "go clean", "result": "Cleaning the module cache solved it", "confidence": 0.9}]}`
	for _, row := range []struct {
		name           string
		p              float64
		model, hub     string
		wire, chat     int
		outcome, count string
	}{
		{"nothing worth keeping", 0.03, "", `"model":"wire/one",`, 1, 0, "none", "1"},
		{"something", 0.97, "", `"model":"wire/one",`, 1, 1, "new", "1"},
		{"HINT_MODEL guards", 0.03, "wire/one", ``, 1, 0, "none", "1"},
		{"a chat model of its own", 0.03, "wire/one", `"model":"chat/small",`, 0, 1, "new", "1"},
		{"a gate that fails", 7, "wire/one", ``, 1, 1, "new", "1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			model, settings := deciding(t, row.p, found)
			settings["HINT_MODEL"], settings["HINT_MODEL_FALLBACK"] = cmp.Or(row.model, "chat/small"), "chat/small"
			settings["HINT_KNOWHUB"] = fmt.Sprintf(`{"enabled": true, %s "listen": "127.0.0.1:0", "enableServerExtraction": true}`, row.hub)
			settings["HINT_HTTP_ADDR"] = "127.0.0.1:0"
			s := start(t, settings)
			_, err := s.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s1", []byte(ranWell))
			require.NoError(t, err)
			line := fmt.Sprintf(`intenthint_knowhub_extracted_total{outcome=%q} %s`, row.outcome, row.count)
			s.Eventually(line, func() bool {
				_, body := page(t, s, "/metrics")
				return strings.Contains(body, line+"\n")
			})
			paths := map[string]int{}
			for _, r := range model.Requests() {
				paths[r.Path[strings.LastIndex(r.Path, "/"):]]++
			}
			require.Equal(t, row.wire, paths["/systemone"])
			require.Equal(t, row.chat, paths["/completions"])
		})
	}
}
