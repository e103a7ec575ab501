package evaluate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/evaluate"
	"intenthint/intents"
)

// Wants that are said without their usual words, and lines that ask for nothing: notices,
// remarks to people, names of files. By words alone.
func TestIndirectWants(t *testing.T) {
	outcomes := answersTo(t, "indirect-dev.jsonl")
	var wants, nothing []evaluate.Outcome
	for _, o := range outcomes {
		if o.Want == intents.FallbackID {
			nothing = append(nothing, o)
		} else {
			wants = append(wants, o)
		}
	}
	require.Len(t, wants, 81)
	require.Len(t, nothing, 47)
	right, named, wrong := 0, 0, 0
	for _, o := range outcomes {
		if !o.Hinted(minConfidence) || o.Got == intents.FallbackID {
			continue
		}
		named++
		switch {
		case !o.Right():
			wrong++
		case o.Want != intents.FallbackID:
			right++
		}
	}
	t.Logf("right %d of %d, wrong %d of %d hints", right, len(wants), wrong, named)
	require.GreaterOrEqual(t, right, 57, "70 of 100 wants")
	require.LessOrEqual(t, wrong, named/4, "75 of 100 hints are right")
}
