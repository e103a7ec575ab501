package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/model/provider/providertest"
)

// embedded waits until the embedding model has helped so often.
func embedded(s *system, times int) {
	s.t.Helper()
	s.Eventually("the embedding model is in use", func() bool {
		return strings.Count(s.Log.String(), "embedding model in use") == times
	})
}

// hinted asks about a message in a session of its own, and returns what the
// headers say.
func hinted(s *system, text string) (intent, source, model string) {
	s.t.Helper()
	s.Sequence++
	env := s.Prompt(fmt.Sprint("session", s.Sequence), fmt.Sprint("run", s.Sequence), text)
	env.TS = time.Now().UnixMilli() // a clock that is off is a warning
	reply := s.Ask(env, time.Minute)
	return reply.Header.Get("Hint-Intent"), reply.Header.Get("Hint-Source"), reply.Header.Get("Hint-Model")
}

func requireHint(s *system, text, intent, source, model string) {
	s.t.Helper()
	i, so, m := hinted(s, text)
	require.Equal(s.t, []string{intent, source, model}, []string{i, so, m}, text)
}

// usesOf are what all turns with an input asked of models.
func usesOf(s *system, input string) (out []any) {
	for _, raw := range s.Files() {
		var document struct {
			Current map[string]any
			History []map[string]any
		}
		require.NoError(s.t, json.Unmarshal(raw, &document))
		for _, turn := range append(document.History, document.Current) {
			if use, ok := turn["modelUse"].([]any); ok && turn["input"] == input {
				out = append(out, use...)
			}
		}
	}
	return out
}

func TestEmbeddingModelHelps(t *testing.T) {
	t.Parallel()
	model, settings := apptest.EmbeddingModel(t)
	s := start(t, settings)
	embedded(s, 1)
	asked := slices.Sorted(slices.Values(apptest.Texts(model)))
	require.Subset(t, asked, []string{"will it rain tomorrow", "pay my electricity bill", "weather"})
	require.Len(t, slices.Compact(slices.Clone(asked)), len(asked), "each text of the intents once")
	requireHint(s, "quassel again", "WEATHER", "embedding", "mock/embed")
	requireHint(s, "tolmi brelk", "MONEY", "embedding", "mock/embed")
	before := model.Count()
	requireHint(s, "tolmi brelk", "MONEY", "embedding", "mock/embed")
	require.Equal(t, before, model.Count(), "the text is remembered")
	var uses []any
	s.Eventually("the turns tell what they asked of the embedding model", func() bool {
		uses = nil
		for _, text := range []string{"quassel again", "tolmi brelk"} {
			uses = append(uses, usesOf(s, text)...)
		}
		return len(uses) == 2
	})
	for _, use := range uses {
		u, _ := use.(map[string]any)
		require.EqualValues(t, 1, u["calls"])
		require.Positive(t, u["in"])
		require.NotContains(t, u, "failed")
	}
	require.Contains(t, s.Log.String(), "embedding mock/embed")

	t.Run("an outage", func(*testing.T) {
		model.Always(providertest.Answer{Status: http.StatusInternalServerError, Message: "down"})
		requireHint(s, "will it rain today", "WEATHER", "local", "")
		requireHint(s, "tolmi brelk", "MONEY", "embedding", "mock/embed")
		model.Always(providertest.Answer{Body: `{"data":[{"index":0,"embedding":[1,0]}]}`})
		requireHint(s, "will it rain on monday", "WEATHER", "local", "")
		model.Always(providertest.Answer{Body: "<html>"})
		requireHint(s, "will it rain on tuesday", "WEATHER", "local", "")
		model.Always(providertest.Answer{})
		requireHint(s, "will it rain on wednesday", "WEATHER", "embedding", "mock/embed")
	})

	t.Run("a restart asks for nothing", func(t *testing.T) {
		require.NoError(t, s.Stop())
		before := model.Count()
		again := start(t, settings)
		again.Sequence = s.Sequence
		embedded(again, 1)
		require.Equal(t, before, model.Count())
		requireHint(again, "quassel again", "WEATHER", "embedding", "mock/embed")
	})
}

func TestAHangingEmbeddingModelCostsNoHint(t *testing.T) {
	t.Parallel()
	model, settings := apptest.EmbeddingModel(t)
	s := start(t, settings)
	embedded(s, 1)
	model.Always(providertest.Answer{Hang: true})
	reply := s.Ask(s.Prompt("s", "r", "will it rain on monday"), time.Second)
	require.Equal(t, "local", reply.Header.Get("Hint-Source"))
	require.Equal(t, "WEATHER", reply.Header.Get("Hint-Intent"))
}

func TestEmbeddingModelRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	model, settings := apptest.EmbeddingModel(t)
	s := start(t, settings)
	embedded(s, 1)
	model.Always(providertest.Answer{Status: http.StatusTooManyRequests, Message: "slow down", Header: http.Header{"Retry-After": {"30"}}})
	before := model.Count()
	for i := range 4 {
		requireHint(s, fmt.Sprint("will it rain on day ", i), "WEATHER", "local", "")
	}
	require.Equal(t, before+1, model.Count())
}

func TestEmbeddingModelDownAtTheStart(t *testing.T) {
	t.Parallel()
	model, settings := apptest.EmbeddingModel(t)
	model.Always(providertest.Answer{Status: http.StatusServiceUnavailable, Message: "starting", Header: http.Header{"Retry-After-Ms": {"1"}}})
	s := start(t, settings)
	s.Eventually("the outage is told", func() bool { return strings.Contains(s.Log.String(), "embedding model failed") })
	requireHint(s, "will it rain today", "WEATHER", "local", "")
	model.Always(providertest.Answer{})
	embedded(s, 1)
	requireHint(s, "quassel again", "WEATHER", "embedding", "mock/embed")
}

func TestEmbeddingModelWithoutAKey(t *testing.T) {
	t.Parallel()
	_, settings := apptest.EmbeddingModel(t)
	settings["HINT_EMBEDDING_MODEL"] = "openai/text-embedding-3-small"
	settings["HINT_PROVIDERS"] = `{"openai":{"apiKeyEnv":"A_VARIABLE_THAT_IS_NOT_SET"}}`
	s := start(t, settings)
	requireHint(s, "will it rain today", "WEATHER", "local", "")
	require.NotContains(t, s.Log.String(), "embedding model failed", "warned of when the configuration was read")
}

func TestAnEditFetchesOnlyNewVectors(t *testing.T) {
	t.Parallel()
	model, settings := apptest.EmbeddingModel(t)
	s := start(t, settings)
	embedded(s, 1)
	before := len(apptest.Texts(model))
	file := filepath.Join(settings["HINT_INTENTS_DIR"], "money.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	edited := strings.Replace(string(text), "examples:\n", "examples:\n  - how much does the rent cost\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(edited), 0o600))
	embedded(s, 2)
	require.Equal(t, []string{"how much does the rent cost"}, apptest.Texts(model)[before:])
	requireHint(s, "tolmi brelk", "MONEY", "embedding", "mock/embed")
}

func TestTheEmbeddingModelCanBeConfiguredLater(t *testing.T) {
	t.Parallel()
	model, settings := apptest.EmbeddingModel(t)
	file := filepath.Join(t.TempDir(), "config.json5")
	write := func(more string) {
		text := fmt.Sprintf(`{providers: {mock: {baseUrl: %q}}, %s}`, model.OpenAIURL(), more)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write(`embeddingModel: "off"`)
	settings = maps.Clone(settings)
	settings["HINT_EMBEDDING_MODEL"] = "" // the file's counts
	delete(settings, "HINT_PROVIDERS")
	settings["HINT_CONFIG"] = file
	s := start(t, settings)
	requireHint(s, "will it rain today", "WEATHER", "local", "")
	write(`embeddingModel: "mock/embed"`)
	embedded(s, 1)
	requireHint(s, "quassel again", "WEATHER", "embedding", "mock/embed")
	write(`embeddingModel: "mock/embed", minConfidence: 0.01`)
	s.Eventually("the configuration is read again", func() bool {
		return strings.Count(s.Log.String(), `"configuration reloaded","config"`) == 2
	})
	requireHint(s, "quassel again", "WEATHER", "embedding", "mock/embed")
	require.Equal(t, 1, strings.Count(s.Log.String(), "embedding model in use"), "the vectors were not fetched again")
	write(`embeddingModel: "off", minConfidence: 0.01`)
	s.Eventually("the configuration is read again", func() bool {
		return strings.Count(s.Log.String(), `"configuration reloaded","config"`) == 3
	})
	requireHint(s, "will it rain today", "WEATHER", "local", "")
}

func TestEmbeddingModelUnderTheOtherModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, mode, accept string
		answer             providertest.Answer
		text               string
		source             string
		calls              int // of the embedding model, for the message
	}{
		{"llm does not ask it", "llm", "", providertest.Answer{Text: apptest.HintAnswer}, "quassel again", "llm", 0},
		{"hedged, the model is good", "hedged", "", providertest.Answer{Text: apptest.HintAnswer, Delay: 100 * time.Millisecond}, "quassel again", "llm", 1},
		{"hedged, the model fails", "hedged", "", providertest.Answer{Status: 500}, "quassel again", "embedding", 1},
		{"cascade, the local answer will do", "cascade", "0", providertest.Answer{Text: apptest.HintAnswer}, "will it rain tomorrow", "local", 0},
		{"cascade, neither will do", "cascade", "1", providertest.Answer{Text: apptest.HintAnswer}, "quassel again", "llm", 1},
		{"cascade, neither will do and the model fails", "cascade", "1", providertest.Answer{Status: 500}, "quassel again", "embedding", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model, settings := apptest.EmbeddingModel(t)
			maps.Copy(settings, map[string]string{"HINT_CLASSIFIER": tt.mode, "HINT_LOCAL_ACCEPT": tt.accept, "HINT_MODEL": "mock/small"})
			s := start(t, settings)
			if tt.mode != "llm" {
				embedded(s, 1)
			}
			before := len(apptest.Texts(model))
			model.Handle(func(r providertest.Request) providertest.Answer {
				if r.Texts != nil {
					return providertest.Answer{}
				}
				return tt.answer
			})
			_, source, _ := hinted(s, tt.text)
			require.Equal(t, tt.source, source)
			require.Len(t, apptest.Texts(model), before+tt.calls)
		})
	}
}
