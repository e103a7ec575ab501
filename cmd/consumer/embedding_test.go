package main

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

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/internal/telemetry"
	"intenthint/model/provider/providertest"
)

// synonyms are words that the intents of [writeIntents] do not have, and that
// the embedding model of these tests knows.
var synonyms = map[string]string{"quassel": "rain", "tolmi": "bank", "brelk": "balance"}

// embeddingModel is a server of an embedding model, and what names it.
func embeddingModel(t *testing.T) (*providertest.Server, map[string]string) {
	t.Helper()
	model := providertest.New(t)
	model.Vectors(providertest.NGrams(synonyms))
	return model, map[string]string{
		"HINT_INTENTS_DIR":     writeIntents(t),
		"HINT_DATA_DIR":        t.TempDir(),
		"HINT_EMBEDDING_MODEL": "mock/embed",
		"HINT_PROVIDERS":       fmt.Sprintf(`{"mock":{"baseUrl":%q}}`, model.OpenAIURL()),
	}
}

// learnt waits until the embedding model has helped so often.
func learnt(s *system, times int) {
	s.t.Helper()
	s.eventually("the embedding model helps", func() bool {
		return strings.Count(s.log.String(), "the embedding model helps") == times
	})
}

// hinted asks about a message in a session of its own, and returns what the
// headers say.
func hinted(s *system, text string) (intent, source, model string) {
	s.t.Helper()
	s.sequence++
	reply := s.ask(s.prompt(fmt.Sprint("session", s.sequence), fmt.Sprint("run", s.sequence), text), time.Minute)
	return reply.Header.Get("Hint-Intent"), reply.Header.Get("Hint-Source"), reply.Header.Get("Hint-Model")
}

func requireHint(s *system, text, intent, source, model string) {
	s.t.Helper()
	i, so, m := hinted(s, text)
	require.Equal(s.t, []string{intent, source, model}, []string{i, so, m}, text)
}

func texts(model *providertest.Server) []string {
	var out []string
	for _, r := range model.Requests() {
		out = append(out, r.Texts...)
	}
	return out
}

func TestEmbeddingModelHelps(t *testing.T) {
	model, settings := embeddingModel(t)
	s := start(t, settings)
	learnt(s, 1)
	asked := slices.Sorted(slices.Values(texts(model)))
	require.Subset(t, asked, []string{"will it rain tomorrow", "pay my electricity bill", "weather"})
	require.Len(t, slices.Compact(slices.Clone(asked)), len(asked), "each text of the intents once")
	requireHint(s, "my quassel", "WEATHER", "embedding", "mock/embed")
	requireHint(s, "tolmi brelk", "MONEY", "embedding", "mock/embed")
	before := model.Count()
	requireHint(s, "tolmi brelk", "MONEY", "embedding", "mock/embed")
	require.Equal(t, before, model.Count(), "the text is remembered")
	require.Contains(t, s.log.String(), "embedding mock/embed")

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
		require.NoError(t, s.stop())
		before := model.Count()
		again := start(t, settings)
		again.sequence = s.sequence
		learnt(again, 1)
		require.Equal(t, before, model.Count())
		requireHint(again, "my quassel", "WEATHER", "embedding", "mock/embed")
	})
}

func TestEmbeddingModelThatHangsCostsNoHint(t *testing.T) {
	model, settings := embeddingModel(t)
	s := start(t, settings)
	learnt(s, 1)
	model.Always(providertest.Answer{Hang: true})
	reply := s.ask(s.prompt("s", "r", "will it rain on monday"), time.Second)
	require.Equal(t, "local", reply.Header.Get("Hint-Source"))
	require.Equal(t, "WEATHER", reply.Header.Get("Hint-Intent"))
}

func TestEmbeddingModelIsLeftAlone(t *testing.T) {
	model, settings := embeddingModel(t)
	s := start(t, settings)
	learnt(s, 1)
	model.Always(providertest.Answer{Status: http.StatusTooManyRequests, Message: "slow down", Header: http.Header{"Retry-After": {"30"}}})
	before := model.Count()
	for i := range 4 {
		requireHint(s, fmt.Sprint("will it rain on day ", i), "WEATHER", "local", "")
	}
	require.Equal(t, before+1, model.Count())
}

func TestEmbeddingModelThatIsDownAtTheStart(t *testing.T) {
	model, settings := embeddingModel(t)
	model.Always(providertest.Answer{Status: http.StatusServiceUnavailable, Message: "starting", Header: http.Header{"Retry-After-Ms": {"1"}}})
	s := start(t, settings)
	s.eventually("the outage is told", func() bool { return strings.Contains(s.log.String(), "the embedding model does not answer") })
	requireHint(s, "will it rain today", "WEATHER", "local", "")
	model.Always(providertest.Answer{})
	learnt(s, 1)
	requireHint(s, "my quassel", "WEATHER", "embedding", "mock/embed")
}

func TestEmbeddingModelWithoutAKey(t *testing.T) {
	_, settings := embeddingModel(t)
	settings["HINT_EMBEDDING_MODEL"] = "openai/text-embedding-3-small"
	settings["OPENAI_API_KEY"] = ""
	s := start(t, settings)
	s.eventually("it is told", func() bool { return strings.Contains(s.log.String(), "the embedding model cannot be asked") })
	require.Contains(t, s.log.String(), "OPENAI_API_KEY")
	requireHint(s, "will it rain today", "WEATHER", "local", "")
}

func TestAnEditAsksForTheNewTextsAlone(t *testing.T) {
	model, settings := embeddingModel(t)
	s := start(t, settings)
	learnt(s, 1)
	before := len(texts(model))
	file := filepath.Join(settings["HINT_INTENTS_DIR"], "money.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	edited := strings.Replace(string(text), "examples:\n", "examples:\n  - how much does the rent cost\n", 1)
	require.NoError(t, os.WriteFile(file, []byte(edited), 0o600))
	learnt(s, 2)
	require.Equal(t, []string{"how much does the rent cost"}, texts(model)[before:])
	requireHint(s, "tolmi brelk", "MONEY", "embedding", "mock/embed")
}

func TestTheEmbeddingModelCanBeConfiguredLater(t *testing.T) {
	model, settings := embeddingModel(t)
	file := filepath.Join(t.TempDir(), "config.json5")
	write := func(more string) {
		text := fmt.Sprintf(`{providers: {mock: {baseUrl: %q}}, %s}`, model.OpenAIURL(), more)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("")
	settings = maps.Clone(settings)
	delete(settings, "HINT_EMBEDDING_MODEL")
	delete(settings, "HINT_PROVIDERS")
	settings["HINT_CONFIG"] = file
	s := start(t, settings)
	requireHint(s, "will it rain today", "WEATHER", "local", "")
	write(`embeddingModel: "mock/embed"`)
	learnt(s, 1)
	requireHint(s, "my quassel", "WEATHER", "embedding", "mock/embed")
	write(`embeddingModel: "mock/embed", minConfidence: 0.01`)
	s.eventually("the configuration is read again", func() bool {
		return strings.Count(s.log.String(), `"configuration reloaded","config"`) == 2
	})
	requireHint(s, "my quassel", "WEATHER", "embedding", "mock/embed")
	require.Equal(t, 1, strings.Count(s.log.String(), "the embedding model helps"), "nothing had to be learnt anew")
	write(`minConfidence: 0.01`)
	s.eventually("the configuration is read again", func() bool {
		return strings.Count(s.log.String(), `"configuration reloaded","config"`) == 3
	})
	requireHint(s, "will it rain today", "WEATHER", "local", "")
}

func TestEmbeddingModelUnderTheOtherModes(t *testing.T) {
	for _, tt := range []struct {
		name, mode, accept string
		answer             providertest.Answer
		text               string
		source             string
		calls              int // of the embedding model, for the message
	}{
		{"llm does not ask it", "llm", "", providertest.Answer{Text: hintAnswer}, "my quassel", "llm", 0},
		{"hedged, the model is good", "hedged", "", providertest.Answer{Text: hintAnswer, Delay: 100 * time.Millisecond}, "my quassel", "llm", 1},
		{"hedged, the model fails", "hedged", "", providertest.Answer{Status: 500}, "my quassel", "embedding", 1},
		{"cascade, the local answer will do", "cascade", "0", providertest.Answer{Text: hintAnswer}, "will it rain tomorrow", "local", 0},
		{"cascade, neither will do", "cascade", "1", providertest.Answer{Text: hintAnswer}, "my quassel", "llm", 1},
		{"cascade, neither will do and the model fails", "cascade", "1", providertest.Answer{Status: 500}, "my quassel", "embedding", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model, settings := embeddingModel(t)
			maps.Copy(settings, map[string]string{"HINT_CLASSIFIER": tt.mode, "HINT_LOCAL_ACCEPT": tt.accept, "HINT_MODEL": "mock/small"})
			s := start(t, settings)
			if tt.mode != "llm" {
				learnt(s, 1)
			}
			before := len(texts(model))
			model.Handle(func(r providertest.Request) providertest.Answer {
				if r.Texts != nil {
					return providertest.Answer{}
				}
				return tt.answer
			})
			_, source, _ := hinted(s, tt.text)
			require.Equal(t, tt.source, source)
			require.Len(t, texts(model), before+tt.calls)
		})
	}
}

func TestClassifyAndEvalWithAnEmbeddingModel(t *testing.T) {
	model, settings := embeddingModel(t)
	settle(t, settings)
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs lockedBuffer
		require.Zero(t, runContext(t.Context(), args, &out, &errs), errs.String())
		return out.String(), errs.String()
	}
	stdout, stderr := run("classify", "--json", "my quassel")
	require.Empty(t, stderr)
	var got classified
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Equal(t, []string{"WEATHER", "embedding", "mock/embed"}, []string{got.Intent, got.Source, got.Model})
	require.NotEmpty(t, got.Evidence.Nearest)
	require.True(t, slices.ContainsFunc(got.RunnersUp, func(s local.Score) bool { return s.Intent == "MONEY" }))

	data := writeData(t, line("my quassel", "WEATHER"), line("tolmi brelk", "MONEY"), line("xqzv wkjp", "OTHER"))
	before := texts(model)
	stdout, stderr = run("eval", "--data", data, "--json")
	require.Empty(t, stderr)
	require.Equal(t, []string{"my quassel", "tolmi brelk", "xqzv wkjp"}, texts(model)[len(before):], "the vectors of the intents are there, each message is asked for once")
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &fields))
	require.InDelta(t, 1, fields["accuracy"], 0)
	require.InDelta(t, 1, fields["accuracyForced"], 0)

	settings["HINT_EMBEDDING_MODEL"] = ""
	settle(t, settings)
	stdout, _ = run("eval", "--data", data, "--json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &fields))
	require.Less(t, fields["accuracy"], 1.0, "words alone do not tell")

	settings["HINT_EMBEDDING_MODEL"] = "mock/another"
	settle(t, settings)
	model.Always(providertest.Answer{Status: 500, Message: "down"})
	stdout, stderr = run("classify", "will it rain tomorrow")
	require.Contains(t, stdout, "WEATHER")
	require.Contains(t, stderr, "the local classifier answers alone")
	require.Contains(t, stderr, "down")
}

func TestObserverShowsTheEmbeddingModel(t *testing.T) {
	var log lockedBuffer
	metrics := telemetry.NewMetrics("test")
	o := observer{metrics, telemetry.NewLogger(&log, "json", nil)}
	o.Classified("embedding", time.Millisecond)
	o.EmbeddingReady(true)
	o.ModelCalled(classify.Call{Ref: "p/e", Outcome: classify.OutcomeOK})
	require.NoError(t, testutil.GatherAndCompare(metrics.Registry(), strings.NewReader(`
# HELP intenthint_embedding_ready Whether the embedding model takes part (1), or there is none or its vectors of the intents are not there yet (0).
# TYPE intenthint_embedding_ready gauge
intenthint_embedding_ready 1
`), "intenthint_embedding_ready"))
	n, err := testutil.GatherAndCount(metrics.Registry(), "intenthint_classification_duration_seconds")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	o.EmbeddingReady(false)
	require.NoError(t, testutil.GatherAndCompare(metrics.Registry(), strings.NewReader(`
# HELP intenthint_embedding_ready Whether the embedding model takes part (1), or there is none or its vectors of the intents are not there yet (0).
# TYPE intenthint_embedding_ready gauge
intenthint_embedding_ready 0
`), "intenthint_embedding_ready"))
}
