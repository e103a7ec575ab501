package evaluate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/conversation"
	"intenthint/intents"
)

// Of the messages in a language of the catalogue, least get a right hint by their words
// alone, and of the hints leastRight are right.
func TestLanguages(t *testing.T) {
	outcomes := answersTo(t, "languages-dev-2.jsonl")
	byLanguage := map[string][]evaluate.Outcome{}
	for i, lang := range languagesOf(t, "languages-dev-2.jsonl") {
		byLanguage[lang] = append(byLanguage[lang], outcomes[i])
	}
	for _, row := range []struct {
		lang              string
		least, leastRight float64
	}{
		{"hu", 0.55, 0.90},
		{"el", 0.60, 0.90},
		{"uk", 0.68, 0.90},
		{"vi", 0.72, 0.90},
		{"id", 0.80, 0.90},
		{"th", 0.80, 0.90},
		{"he", 0.55, 0.90},
		{"fa", 0.62, 0.90},
	} {
		t.Run(row.lang, func(t *testing.T) {
			require.Len(t, byLanguage[row.lang], 86)
			hints := evaluate.HintsAt(byLanguage[row.lang], minConfidence)
			t.Logf("%+v", hints)
			require.GreaterOrEqual(t, hints.Hinted*hints.Precision, row.least)
			require.GreaterOrEqual(t, hints.Precision, row.leastRight)
		})
	}
}

// Where few of a message's words are known, there is no hint with an intent: messages in
// languages that the catalogue has no examples of.
func TestUntaughtLanguages(t *testing.T) {
	outcomes := answersTo(t, "languages-untaught.jsonl")
	require.Len(t, outcomes, 43)
	for i := range outcomes {
		o := &outcomes[i]
		require.False(t, o.Hinted(minConfidence) && o.Got != intents.FallbackID, "%s: %s %.2f", o.Text, o.Got, o.Confidence)
	}
}

// answersTo classifies the messages of a file of testdata with the bundled catalogue, by
// their words alone.
func answersTo(t *testing.T, file string) []evaluate.Outcome {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	lines, err := evaluate.Parse(file, data)
	require.NoError(t, err)
	catalog := intents.Bundled()
	lines, unknown := evaluate.Resolve(lines, catalog)
	require.Empty(t, unknown)
	model := local.Trained(catalog)
	run := evaluate.Run{
		Catalog:    catalog,
		Classifier: classify.New(classify.ModeLocal, model, nil, classify.Options{}),
		Predict: func(_ string, in classify.Input) local.Prediction {
			return model.Predict(in.Latest, in.Conversation, nil)
		},
		QueryMode: conversation.ModeRecent, Window: conversation.DefaultWindow(),
	}
	outcomes, err := run.Classify(t.Context(), lines)
	require.NoError(t, err)
	return outcomes
}

// languagesOf returns the languages of the lines of a file of testdata.
func languagesOf(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var out []string
	for line := range bytes.Lines(data) {
		var l struct{ Lang string }
		require.NoError(t, json.Unmarshal(line, &l))
		out = append(out, l.Lang)
	}
	return out
}
