package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
)

// What was learnt counts as an example, of an intent and of the fallback.
func TestTrainLearnsWhatACatalogueWasTaught(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains on the built-in intents")
	}
	base := intents.Bundled()
	extended := base.WithExamples(map[string][]string{
		"HOME_AUTOMATION":  {"water the ficus every other tuesday"},
		intents.FallbackID: {"zorbulate my quibbleflax"},
	})
	model := Train(extended)
	for _, row := range []struct{ name, text, intent string }{
		{"an intent", "water the ficus every other tuesday", "HOME_AUTOMATION"},
		{"the fallback", "zorbulate my quibbleflax", intents.FallbackID},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := model.Predict(row.text, nil, nil)
			if row.intent == intents.FallbackID {
				require.True(t, p.Other)
			} else {
				require.False(t, p.Other)
				require.Equal(t, row.intent, p.Intent)
				require.NotEqual(t, row.intent, Trained(base).Predict(row.text, nil, nil).Intent)
			}
			require.GreaterOrEqual(t, p.Confidence, 0.8)
			require.Contains(t, TextsOf(extended), row.text)
			require.NotContains(t, TextsOf(base), row.text)
		})
	}
}
