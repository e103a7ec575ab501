package local_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"intenthint/internal/golden"
	"intenthint/triage/local"
)

// TestEvaluate holds the gate to its aim on groups that it was not trained on: at least
// half of the questions to a model saved, at most 0.5 % of the answers missed. It was 60
// and 1 % before real chat was measured, where the gate missed 6 %. The golden file holds the figures by group and language.
func TestEvaluate(t *testing.T) {
	computes(t)
	const first = 50
	unmarked := local.Evaluate(local.Bundled(), 0, first)
	fresh, later := unmarked[0], unmarked[1]
	marked := local.EvaluateMarked(local.Bundled(), first)
	var b strings.Builder
	fmt.Fprintf(&b, "Each group judged by a gate trained on the other eleven\n\n%s\n", fresh)
	fmt.Fprintf(&b, "The same without the first %d messages of each group\n\n%s\n", first, later)
	fmt.Fprintf(&b, "The same messages, the first %d of the group being marks\n\n%s", first, marked)
	golden.Equal(t, "evaluation.txt", b.String())

	require.GreaterOrEqual(t, fresh.All.Saved(), 0.50)
	require.LessOrEqual(t, fresh.All.MissedShare(), 0.005)
	require.Greater(t, marked.All.Saved(), later.All.Saved(), "marks of the group help")
}

func TestEvaluateCounts(t *testing.T) {
	set, err := local.Read(fstest.MapFS{"a.jsonl": {Data: []byte(`
{"group":"a","sender":"x","text":"Pixel, what time is it","at":1,"botName":"Pixel","label":"respond","lang":"en"}
{"group":"a","sender":"x","text":"k","at":2,"botName":"Pixel","label":"skip","lang":"en"}
{"group":"a","sender":"x","text":"what is a quark?","at":3,"botName":"Pixel","label":"respond","lang":"en"}
{"group":"a","sender":"y","text":"no idea","at":4,"botName":"Pixel","label":"skip","lang":"en"}
`[1:])}})
	require.NoError(t, err)
	r := local.Evaluate(set, 0)[0]
	require.Equal(t, local.Measure{Messages: 2, Deserving: 1}, r.All, "the name and one character are other rules' matter")
	require.Equal(t, r.All, r.ByGroup["a"])
	require.Equal(t, r.All, r.ByLanguage["en"])
	require.Equal(t, 1, local.EvaluateMarked(set, 3).All.Messages)
	require.Zero(t, local.EvaluateMarked(set, 9).All)
	require.Zero(t, local.Measure{}.Saved())
}
