package evaluate_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/conversation"
	"intenthint/intents"
)

// The messages of testdata, which nobody wrote examples from, against the bundled
// catalogue and the words alone: what docs/figures.md says must hold.
func TestMessages(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "messages.jsonl"))
	require.NoError(t, err)
	lines, err := evaluate.Parse("messages.jsonl", data)
	require.NoError(t, err)
	catalog := intents.Bundled()
	lines, unknown := evaluate.Resolve(lines, catalog)
	require.Empty(t, unknown)
	examples := map[string]bool{}
	for _, in := range append(catalog.Enabled(), catalog.Fallback()) {
		for _, e := range in.Examples {
			examples[local.Normalize(e)] = true
		}
	}
	outside, leaning := 0, 0
	for _, l := range lines {
		require.False(t, examples[local.Normalize(l.Text)] && len(l.History) == 0, "an example: %s", l.Text)
		if l.Intent == intents.FallbackID {
			outside++
		}
		if len(l.History) > 0 {
			leaning++
		}
	}
	require.GreaterOrEqual(t, len(lines), 600)
	require.InDelta(t, 0.25, float64(outside)/float64(len(lines)), 0.02)
	require.InDelta(t, 0.15, float64(leaning)/float64(len(lines)), 0.02)

	model := local.Trained(catalog)
	run := evaluate.Run{
		Catalog:    catalog,
		Classifier: classify.New(classify.ModeLocal, model, nil, classify.Options{}),
		Predict: func(_ string, in classify.Input) local.Prediction {
			return model.PredictInput(in, nil)
		},
		QueryMode: conversation.ModeRecent, Window: conversation.DefaultWindow(),
	}
	outcomes, err := run.Classify(t.Context(), lines)
	require.NoError(t, err)
	hints := evaluate.HintsAt(outcomes, 0.5)
	t.Logf("%+v %+v", evaluate.Measure(outcomes), hints)
	require.Greater(t, evaluate.Measure(outcomes).Accuracy, 0.86)
	require.Greater(t, hints.Precision, 0.95, "of the hints are right")
	require.Less(t, hints.OOSMisled, 0.06, "of what fits no intent gets a hint with one")
	var in, out []evaluate.Outcome
	for i, o := range outcomes {
		if o.Got == intents.FallbackID && o.Confidence < 0.6 {
			continue // it says nothing, however right it is
		}
		if lines[i].Intent == intents.FallbackID && len(lines[i].Intents) < 2 {
			out = append(out, o)
		} else {
			in = append(in, o)
		}
	}
	for _, percent := range []int{10, 40, 60} {
		// Repeated until the percentage is met to about a hundredth of itself.
		const copies = 100
		ece := evaluate.ECE(slices.Concat(
			slices.Repeat(in, copies*(100-percent)*len(out)/(percent*len(in))),
			slices.Repeat(out, copies),
		))
		t.Logf("ECE with %d %% out of scope: %.3f", percent, ece)
		require.Less(t, ece, 0.095, "%d %% out of scope", percent) // too low: fewer hints, not wrong ones
	}
}
