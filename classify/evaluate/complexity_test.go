package evaluate

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/classify/local"
	"intenthint/intents"
)

func TestComplexityOf(t *testing.T) {
	t.Parallel()
	lines := []Line{{Complexity: "high"}, {Complexity: "low"}, {Complexity: "low"}, {}, {Complexity: "low"}}
	outcomes := []Outcome{{Complexity: "high"}, {Complexity: "low"}, {Complexity: "medium"}, {Complexity: "low"}, {}}
	require.Equal(t, &Complexity{N: 4, Accuracy: 0.5, Confusion: []ComplexityRow{{Want: "low", Low: 1, Medium: 1, None: 1}, {Want: "high", High: 1}}}, ComplexityOf(lines, outcomes))
	require.Nil(t, ComplexityOf(lines[3:4], outcomes[3:4]))
}

func TestALineHasAComplexityThatIsKnown(t *testing.T) {
	t.Parallel()
	lines, err := Parse("f", []byte(`{"text": "hi", "intent": "CHAT", "complexity": "low"}`))
	require.NoError(t, err)
	require.Equal(t, "low", lines[0].Complexity)
	for _, in := range []string{`"hard"`, `3`, `"LOW"`} {
		_, err := Parse("f", []byte(`{"text": "hi", "intent": "CHAT", "complexity": `+in+`}`))
		require.ErrorContains(t, err, `f:1: "complexity" must be low, medium or high`)
	}
}

// How complex messages are is found for more than four in five, and seldom missed by
// two levels.
func TestComplexityOfMessages(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/complexity.jsonl")
	require.NoError(t, err)
	lines, err := Parse("complexity.jsonl", data)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(lines), 200)
	catalog := intents.Bundled()
	model := local.Trained(catalog)
	outcomes := make([]Outcome, len(lines))
	for i, l := range lines {
		outcomes[i].Complexity = model.Classify(classify.Input{Catalog: catalog, Latest: l.Text}).Complexity
	}
	got := ComplexityOf(lines, outcomes)
	require.GreaterOrEqual(t, got.Accuracy, 0.83, "%+v", got)
	for _, row := range got.Confusion {
		if row.Want == "low" {
			require.LessOrEqual(t, row.High, 2, "%+v", got)
		}
		if row.Want == "high" {
			require.LessOrEqual(t, row.Low, 1, "%+v", got)
		}
	}
}
