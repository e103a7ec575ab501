package evaluate

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHintsAt(t *testing.T) {
	outcomes := []Outcome{
		said("A", "A", 0.9, ""), said("A", "B", 0.6, ""), said("A", "A", 0.3, ""),
		said("OTHER", "OTHER", 0.7, ""), said("OTHER", "A", 0.5, ""),
		{Want: "OTHER", Got: "OTHER", Err: errors.New("away")},
	}
	for _, tc := range []struct {
		row      string
		outcomes []Outcome
		min      float64
		want     Threshold
	}{
		{"no outcomes", nil, 0.5, Threshold{MinConfidence: 0.5}},
		{"all but the failed one", outcomes, 0, Threshold{0, Hints{5.0 / 6, 3.0 / 5, 2.0 / 3}, 1.0 / 3}},
		{"a confidence at the threshold is enough", outcomes, 0.5, Threshold{0.5, Hints{4.0 / 6, 2.0 / 4, 2.0 / 3}, 1.0 / 3}},
		{"the fallback is a hint", outcomes, 0.7, Threshold{0.7, Hints{2.0 / 6, 1, 1.0 / 3}, 0}},
		{"none", outcomes, 0.95, Threshold{MinConfidence: 0.95}},
		{"in scope alone", outcomes[:3], 0.5, Threshold{0.5, Hints{2.0 / 3, 0.5, 0}, 0}},
	} {
		t.Run(tc.row, func(t *testing.T) { require.Equal(t, tc.want, HintsAt(tc.outcomes, tc.min)) })
	}
}

func TestThresholds(t *testing.T) {
	got := Thresholds([]Outcome{said("A", "A", 0.15, ""), said("A", "A", 0.62, "")})
	require.Len(t, got, 20)
	require.Zero(t, got[0].MinConfidence)
	require.InDelta(t, 0.15, got[3].MinConfidence, 0, "no rounding error")
	require.InDelta(t, 0.95, got[19].MinConfidence, 0)
	require.InDelta(t, 1, got[3].Hinted, 0)
	require.InDelta(t, 0.5, got[12].Hinted, 0)
	require.Zero(t, got[13].Hinted)
}

func TestCompare(t *testing.T) {
	multi := func(got string) Outcome { return Outcome{Want: "A", Also: []string{"B"}, Got: got} }
	before := []Outcome{said("A", "B", 0, ""), said("A", "A", 0, ""), said("A", "B", 0, ""), said("A", "A", 0, ""), multi("A"), said("GONE", "b", 0, "")}
	after := []Outcome{said("A", "A", 0, ""), said("A", "OTHER", 0, ""), said("A", "C", 0, ""), said("A", "A", 1, ""), multi("B"), said("GONE", "B", 0, "")}
	require.Equal(t, Comparison{Better: []int{0}, Worse: []int{1}, Changed: []int{2, 4}}, Compare(before, after))
	require.Zero(t, Compare(nil, nil))
}
