package app_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/config"
	"intenthint/intents"
)

// builtin are settings with the encoder in the binary, on a few small intents.
func builtin(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"weather.md": "triggers:\n  - the user asks about the weather\nexamples:\n  - will it rain tomorrow\n  - what is the weather like in paris\n  - is it cold outside today\n  - how hot will it get this afternoon\n  - 明天會下雨嗎\n",
		"money.md":   "triggers:\n  - the user wants to pay or transfer money\nexamples:\n  - pay my electricity bill\n  - send fifty euros to anna\n  - transfer money to my savings account\n  - how much do i owe the landlord\n",
		"music.md":   "triggers:\n  - the user wants to hear music\nexamples:\n  - play some jazz\n  - put on the new album by björk\n  - next song please\n  - i want to listen to something calm\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("---\n"+text+"---\nBe brief.\n"), 0o600))
	}
	return map[string]string{"HINT_INTENTS_DIR": dir, "HINT_EMBEDDING_MODEL": "builtin", "HINT_MIN_CONFIDENCE": "0"}
}

func TestTheBuiltInEncoderHelps(t *testing.T) {
	t.Parallel()
	settings := builtin(t)
	cfg := apptest.Settle(t, settings)
	catalog, _, err := app.LoadCatalog(cfg.IntentsDir, quiet)
	require.NoError(t, err)
	words := local.Train(catalog)
	observer := app.Observer{Metrics: app.NewMetrics("0.0.0", ""), Log: quiet}
	var done int
	tier, err := app.MakeTier(t.Context(), cfg, catalog, words, observer, func(n, _ int) { done = n })
	require.NoError(t, err)
	require.Positive(t, done, "no vector was cached yet")
	classifier, err := app.NewClassifier(cfg, words, tier, observer, nil)
	require.NoError(t, err)
	for _, tt := range []struct{ name, text, intent, source, model string }{
		{"other words", "do i need my umbrella when i go out", "WEATHER", "embedding", "builtin/use-lite"},
		{"an example: the words are certain", "play some jazz", "MUSIC", "local", ""},
		{"not English", "出門要帶傘嗎", "", "local", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := classifier.Classify(t.Context(), classify.Input{Catalog: catalog, Latest: tt.text})
			require.NoError(t, err)
			require.Equal(t, []string{tt.source, tt.model}, []string{got.Source, got.Model})
			if tt.intent != "" {
				forced := tier.Predict(t.Context(), classify.Input{Catalog: catalog, Latest: tt.text})
				require.Equal(t, tt.intent, forced.Intent)
			}
		})
	}
	for outcome, want := range map[string]float64{"used": 1, "spared": 1, "unfit": 1, "busy": 0, "late": 0, "failed": 0} {
		require.InDelta(t, want, testutil.ToFloat64(observer.Embeddings(outcome)), 0, outcome)
	}

	t.Run("the vectors are cached", func(t *testing.T) {
		done = 0
		_, err := app.MakeTier(t.Context(), cfg, catalog, words, observer, func(n, _ int) { done = n })
		require.NoError(t, err)
		require.Zero(t, done)
	})
}

func TestTheBuiltInEncoderWithoutEnglishIntents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "---\nname: 天氣\ntriggers:\n  - 使用者想知道天氣\nexamples:\n  - 明天會下雨嗎\n  - 今天冷不冷\n---\n簡短。\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weather.md"), []byte(text), 0o600))
	cfg := apptest.Settle(t, map[string]string{"HINT_INTENTS_DIR": dir, "HINT_EMBEDDING_MODEL": config.EmbeddingBuiltIn})
	catalog, _, err := app.LoadCatalog(dir, quiet)
	require.NoError(t, err)
	tier, err := app.MakeTier(t.Context(), cfg, catalog, local.Train(catalog), app.Observer{Metrics: app.NewMetrics("0.0.0", ""), Log: quiet}, nil)
	require.NoError(t, err)
	require.Nil(t, tier)
}

// The weights are made once a release, so the built-in intents may be newer. They are
// then trained at the start, as any others are, and only new texts are encoded.
func TestIntentsNewerThanTheirWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on built-in intents twice")
	}
	t.Parallel()
	cfg := apptest.Settle(t, map[string]string{"HINT_EMBEDDING_MODEL": "builtin"})
	observer := app.Observer{Metrics: app.NewMetrics("0.0.0", ""), Log: quiet}
	encoded := 0
	tierOf := func(catalog *intents.Catalog) *app.Tier {
		encoded = 0
		tier, err := app.MakeTier(t.Context(), cfg, catalog, local.Trained(catalog), observer, func(_, of int) { encoded = of })
		require.NoError(t, err)
		require.NotNil(t, tier)
		return tier
	}
	var list []intents.Intent
	for i, in := range intents.Bundled().Enabled() {
		if i%4 == 0 { // all of them take four times as long
			list = append(list, in)
		}
	}
	older := intents.NewCatalog(slices.Clone(list))
	before := tierOf(older)
	require.Zero(t, encoded, "the vectors are in the binary")

	list[0].Examples = append(slices.Clone(list[0].Examples), "an example that nobody has encoded yet")
	list = append(list, intents.Intent{ID: "LIGHTHOUSE", Name: "Lighthouse", Triggers: []string{"the user asks about a lighthouse"}, Examples: []string{
		"is the lighthouse open on sunday", "how tall is the old lighthouse", "who keeps the lighthouse at the cape",
	}})
	newer := intents.NewCatalog(list)
	after := tierOf(newer)
	require.Equal(t, 5, encoded, "one example, and the texts of the new intent")

	asked, same := 0, 0
	for _, in := range older.Enabled() {
		for i := 0; i < len(in.Examples); i += 20 {
			words := strings.Fields(in.Examples[i])
			if len(words) < 4 {
				continue
			}
			message := strings.Join(words[:len(words)-1], " ") // which is no example
			asked++
			if before.Predict(t.Context(), classify.Input{Catalog: older, Latest: message}).Intent ==
				after.Predict(t.Context(), classify.Input{Catalog: newer, Latest: message}).Intent {
				same++
			}
		}
	}
	require.Greater(t, asked, 80)
	require.Greater(t, float64(same), 0.95*float64(asked), "%d of %d", same, asked)
	require.Equal(t, "LIGHTHOUSE", after.Predict(t.Context(), classify.Input{Catalog: newer, Latest: "when was the lighthouse built"}).Intent)
}

func TestASystemWithTheBuiltInEncoder(t *testing.T) {
	t.Parallel()
	s := start(t, builtin(t))
	embedded(s, 1)
	require.Contains(t, s.Log.String(), "embedding builtin")
	// A busy machine may take longer than a hint waits: then the words answer.
	_, source, model := hinted(s, "do i need my umbrella when i go out")
	if source == "local" {
		require.Empty(t, model)
		return
	}
	require.Equal(t, []string{"embedding", "builtin/use-lite"}, []string{source, model})
	require.NotContains(t, strings.ToLower(s.Log.String()), `"level":"warn"`)
}

// The built-in intents and what is learnt of them are in the binary, so that nothing is
// built after the start.
func TestTheFirstQuestionIsAnsweredByAllTiers(t *testing.T) {
	if local.ShippedEmbedded(local.Trained(intents.Bundled()), vectors.OpenBundled()) == nil {
		t.Skip("the weights in the binary are older than the built-in intents")
	}
	t.Parallel()
	s := start(t, map[string]string{"HINT_EMBEDDING_MODEL": "builtin"})
	log := s.Log.String()
	inUse, ready := strings.Index(log, "embedding model in use"), strings.Index(log, `"msg":"ready"`)
	require.Positive(t, inUse, log)
	require.Greater(t, ready, inUse, log)
	require.NotContains(t, log, "learning the intents")
}

var quiet = slog.New(slog.DiscardHandler)

// BenchmarkBothKindsOfMessage is the time of a classification with the built-in
// intents: by words that are certain, and with the encoder, new and remembered.
func BenchmarkBothKindsOfMessage(b *testing.B) {
	cfg := apptest.Settle(b, map[string]string{"HINT_EMBEDDING_MODEL": "builtin"})
	catalog := intents.Bundled()
	words := local.Train(catalog)
	observer := app.Observer{Metrics: app.NewMetrics("0.0.0", ""), Log: quiet}
	tier, err := app.MakeTier(b.Context(), cfg, catalog, words, observer, nil)
	require.NoError(b, err)
	classifier, err := app.NewClassifier(cfg, words, tier, observer, nil)
	require.NoError(b, err)
	for _, bench := range []struct{ name, text, source string }{
		{"certain", "can you remind me to water the plants tomorrow at nine?", "local"},
		{"encoder", "do i need my umbrella when i go out", "embedding"},
		{"remembered", "do i need my umbrella when i go out", "embedding"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				text := bench.text
				if bench.name == "encoder" {
					text = punctuated(text, i)
				}
				got, err := classifier.Classify(b.Context(), classify.Input{Catalog: catalog, Latest: text})
				if err != nil || got.Source != bench.source {
					b.Fatal(got, err)
				}
			}
		})
	}
}

// punctuated returns a text with punctuation by a number: to the words the same
// text, to the encoder a new one.
func punctuated(text string, number int) string {
	const marks = " ,;:.!?"
	var b strings.Builder
	for word := range strings.FieldsSeq(text) {
		b.WriteString(word)
		b.WriteByte(marks[number%len(marks)])
		b.WriteByte(' ')
		number /= len(marks)
	}
	return b.String()
}
