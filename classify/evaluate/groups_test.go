package evaluate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroups(t *testing.T) {
	t.Parallel()
	lines, err := Parse("x", []byte(`{"text": "a", "intent": "A", "lang": "en", "src": "arena"}
{"text": "b", "intent": "A", "lang": "de", "kind": 7}
{"text": "c", "intent": "A", "lang": "en", "kind": "single"}
{"text": "d", "intent": "OTHER", "lang": " "}`))
	require.NoError(t, err)
	outcomes := []Outcome{
		{Want: "A", Got: "A", Confidence: 0.9},
		{Want: "A", Got: "B", Confidence: 0.9},
		{Want: "A", Got: "A", Confidence: 0.2},
		{Want: "OTHER", Got: "OTHER", Confidence: 0.9},
	}
	require.Equal(t, []Group{
		{By: "lang", Name: "en", N: 2, Accuracy: 1, RightHint: 0.5, Hints: Hints{Hinted: 0.5, Precision: 1}},
		{By: "lang", Name: "de", N: 1, Hints: Hints{Hinted: 1}},
		{By: "kind", Name: "single", N: 1, Accuracy: 1},
		{By: "src", Name: "arena", N: 1, Accuracy: 1, RightHint: 1, Hints: Hints{Hinted: 1, Precision: 1}},
	}, Groups(lines, outcomes, 0.5))
	require.Empty(t, Groups(lines[3:], outcomes[3:], 0.5))
}
