package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
)

// What was learnt counts as an example, of an intent and of the fallback.
func TestTrainLearnsWhatACatalogueWasTaught(t *testing.T) {
	t.Parallel()
	var some []intents.Intent
	for i, in := range intents.Bundled().Enabled() {
		if i%4 == 0 || in.ID == "HOME_AUTOMATION" {
			some = append(some, in)
		}
	}
	base := intents.NewCatalog(some)
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

func TestWhatWasLearntIsNotQuoted(t *testing.T) {
	t.Parallel()
	files := intents.NewCatalog([]intents.Intent{
		{ID: "DENTIST", Name: "Dentist", Triggers: []string{"dentist"}, Examples: []string{"book the dentist", "when is the dentist free", "cancel the dentist"}},
		{ID: "LIGHTS", Name: "Lights", Triggers: []string{"lights"}, Examples: []string{"turn on the lights", "dim the lights", "lights off"}},
	})
	const secret = "call doctor Keller about my blood test result"
	m := Train(files.WithExamples(map[string][]string{"DENTIST": {secret}}))
	c := m.Classify(classify.Input{Catalog: m.catalog, Latest: "please call doctor Keller about my blood test result"})
	require.Equal(t, "DENTIST", c.Intent)
	require.Equal(t, "close to a message that was learnt from use", c.Reason)
	_, quoted := Example(c.Reason)
	require.False(t, quoted)
}
