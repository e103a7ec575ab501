package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
)

// A text that is read as a whole is no request: neither a task in it nor a quotation
// counts apart.
func TestWhole(t *testing.T) {
	t.Parallel()
	m := local.Train(intents.NewCatalog([]intents.Intent{
		{ID: "CHAT", Triggers: []string{"small talk"}, Examples: []string{"thanks a lot my friend", "you are great, thanks", "hello my friend", "thank you so much"}},
		{ID: "WEATHER", Triggers: []string{"weather"}, Examples: []string{"will it rain tomorrow", "is it warm outside", "what is the weather", "does it snow today"}},
	}))
	const said = "Thanks a lot my friend, you are great, thank you so much. Will it rain?"
	of := func(whole bool) local.Prediction {
		return m.PredictInput(classify.Input{Latest: said, Whole: whole}, nil)
	}
	require.Equal(t, "WEATHER", of(false).Intent, "a task beats a courtesy")
	require.Equal(t, "CHAT", of(true).Intent)
}
