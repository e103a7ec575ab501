package evaluate

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// said is an outcome: a label, an answer, its confidence, the forced choice.
func said(want, got string, confidence float64, forced string) Outcome {
	return Outcome{Text: want + " " + got, Want: want, Got: got, Confidence: confidence, Forced: forced, Took: time.Millisecond}
}

func TestMeasure(t *testing.T) {
	for _, tc := range []struct {
		row      string
		outcomes []Outcome
		want     Metrics
	}{
		{row: "no outcomes"},
		{
			row:      "all right with confidence 1",
			outcomes: []Outcome{said("A", "A", 1, "A"), said("OTHER", "OTHER", 1, "B")},
			want:     Metrics{Accuracy: 1, AccuracyForced: 1, OOSRecall: 1, OOSPrecision: 1, N: 2, NOOS: 1, P50Us: 1000, P99Us: 1000},
		},
		{
			row: "fallback in scope is wrong unless forced",
			outcomes: []Outcome{
				said("A", "A", 1, "A"), said("A", "OTHER", 0, "A"), said("B", "OTHER", 0, "A"), said("B", "A", 0, "A"),
			},
			want: Metrics{Accuracy: 0.25, AccuracyForced: 0.5, N: 4, P50Us: 1000, P99Us: 1000},
		},
		{
			row: "out of scope does not count in the accuracy",
			outcomes: []Outcome{
				said("A", "A", 1, "A"),
				said("OTHER", "OTHER", 1, "A"), said("OTHER", "OTHER", 1, "A"), said("OTHER", "A", 0, "A"), said("A", "OTHER", 0, "B"),
			},
			want: Metrics{Accuracy: 0.5, AccuracyForced: 0.5, OOSRecall: 2.0 / 3, OOSPrecision: 2.0 / 3, N: 5, NOOS: 3, P50Us: 1000, P99Us: 1000},
		},
		{
			row: "one of several labels is right",
			outcomes: []Outcome{
				{Want: "A", Also: []string{"B"}, Got: "B", Confidence: 1, Forced: "B"},
				{Want: "A", Also: []string{"B"}, Got: "C", Forced: "A"},
			},
			want: Metrics{Accuracy: 0.5, AccuracyForced: 1, N: 2},
		},
		{
			row: "fallback among several labels is right and in scope",
			outcomes: []Outcome{
				{Want: "OTHER", Also: []string{"A"}, Got: "OTHER", Confidence: 1, Forced: "A"},
				{Want: "OTHER", Got: "OTHER", Confidence: 1},
				{Want: "OTHER", Got: "A"},
			},
			want: Metrics{Accuracy: 1, AccuracyForced: 1, OOSRecall: 0.5, OOSPrecision: 1, N: 3, NOOS: 2},
		},
		{
			row:      "failed classifier has no forced choice",
			outcomes: []Outcome{{Want: "A", Got: "OTHER", Err: errors.New("away")}},
			want:     Metrics{N: 1},
		},
	} {
		t.Run(tc.row, func(t *testing.T) {
			got := Measure(tc.outcomes)
			got.ECE = 0 // see TestECE
			require.Equal(t, tc.want, got)
		})
	}
}

func TestECE(t *testing.T) {
	right := func(confidence float64) Outcome { return said("A", "A", confidence, "") }
	wrong := func(confidence float64) Outcome { return said("A", "B", confidence, "") }
	for _, tc := range []struct {
		row      string
		outcomes []Outcome
		want     float64
	}{
		{row: "no outcomes", want: 0},
		{row: "confident and right", outcomes: []Outcome{right(1)}, want: 0},
		{row: "confident and wrong", outcomes: []Outcome{wrong(1)}, want: 1},
		{row: "not confident and wrong", outcomes: []Outcome{wrong(0)}, want: 0},
		// One bin, (11/15, 12/15]: mean confidence 0.77, half of it right.
		{row: "one bin takes the average", outcomes: []Outcome{right(0.74), wrong(0.80)}, want: 0.27},
		// Two bins of one: |0.95-1| and |0.15-0|, each half of the whole.
		{row: "two bins", outcomes: []Outcome{right(0.95), wrong(0.15)}, want: 0.10},
		// Errors in opposite directions do not cancel out over bins:
		// (|0.9-0| + |0.1-1|) / 2.
		{row: "opposite errors do not cancel out", outcomes: []Outcome{wrong(0.9), right(0.1)}, want: 0.9},
		// 0.2 is 3/15: the upper border of the third bin, which 0.15 is in, not
		// of the fourth, which 0.21 is in. |0.2+0.15-1|/3 + |0.21-0|/3.
		{row: "border belongs to the lower bin", outcomes: []Outcome{right(0.2), wrong(0.15), wrong(0.21)}, want: (0.65 + 0.21) / 3},
		{row: "out of scope counts too", outcomes: []Outcome{said("OTHER", "OTHER", 0.6, ""), said("OTHER", "A", 0.6, "")}, want: 0.1},
	} {
		t.Run(tc.row, func(t *testing.T) {
			require.InDelta(t, tc.want, ECE(tc.outcomes), 1e-12)
		})
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, tc := range []struct {
		sorted []time.Duration
		q      float64
		want   time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.5, 7},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{1, 2}, 0.5, 1},
		{[]time.Duration{1, 2, 3}, 0.5, 2},
		{hundred, 0, 1},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
	} {
		t.Run(fmt.Sprintf("%v of %d", tc.q, len(tc.sorted)), func(t *testing.T) {
			require.Equal(t, tc.want, Quantile(tc.sorted, tc.q))
		})
	}
}

func TestByIntent(t *testing.T) {
	got := ByIntent([]Outcome{
		said("GOOD", "GOOD", 1, ""),
		said("HALF", "HALF", 1, ""), said("HALF", "GOOD", 1, ""),
		said("LOST", "UNASKED", 1, ""),
		said("OTHER", "OTHER", 1, ""), said("OTHER", "HALF", 1, ""),
		{Want: "LOST", Also: []string{"GOOD"}, Got: "GOOD"}, // counts for the label that was answered
	})
	require.Equal(t, []IntentScore{
		{Intent: "LOST", N: 1},
		{Intent: "HALF", N: 2, Answers: 2, Right: 1},
		{Intent: "OTHER", N: 2, Answers: 1, Right: 1},
		{Intent: "GOOD", N: 2, Answers: 3, Right: 2},
		{Intent: "UNASKED", Answers: 1},
	}, got)
	require.InDelta(t, 0.5, got[1].Recall(), 0)
	require.InDelta(t, 2.0/3, got[3].Precision(), 1e-12)
	require.Zero(t, got[0].Precision(), "without answers")
	require.Zero(t, got[4].Recall(), "without messages")
}

func TestConfusions(t *testing.T) {
	at := func(text, want, got string, confidence float64) Outcome {
		return Outcome{Text: text, Want: want, Got: got, Confidence: confidence}
	}
	require.Equal(t, []Confusion{
		{Want: "A", Got: "B", N: 2, Example: "surely b"},
		{Want: "B", Got: "A", N: 1, Example: "b"},
		{Want: "OTHER", Got: "A", N: 1, Example: "far"},
	}, Confusions([]Outcome{
		at("far", "OTHER", "A", 0.1), at("b", "B", "A", 0), at("maybe b", "A", "B", 0.3), at("surely b", "A", "B", 0.8),
		at("a", "A", "A", 1),
	}))
	require.Empty(t, Confusions([]Outcome{at("a", "A", "A", 1)}))
}
