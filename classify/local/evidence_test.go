package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
)

func TestTheExampleOfAReason(t *testing.T) {
	for _, row := range []struct {
		name, reason, want string
		ok                 bool
	}{
		{"an example", "close to the example “is it so”", "is it so", true},
		{"with what it follows", "follows “close to the example “x””: close to the example “is it so”", "is it so", true},
		{"an example with quotes", "close to the example “what is “so”?”", "what is “so”?", true},
		{"a trigger", "close to the trigger “The user asks”", "", false},
		{"words", "“so” spoke for it", "", false},
		{"a model's reason", "The user asks for an example.", "", false},
		{"nothing", "", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := Example(row.reason)
			require.Equal(t, row.ok, ok)
			if ok {
				require.Equal(t, row.want, got)
			}
		})
	}
}

func TestAReasonOfTheClassifierHasItsExample(t *testing.T) {
	catalog := intents.Bundled()
	answer := Trained(catalog).Classify(classify.Input{Catalog: catalog, Latest: "is this commit safe to ship?"})
	example, ok := Example(answer.Reason)
	require.True(t, ok, answer.Reason)
	intent, _ := catalog.Lookup(answer.Intent)
	require.Contains(t, intent.Examples, example)
}
