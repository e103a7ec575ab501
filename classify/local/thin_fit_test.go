package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
)

// The fit finds how often an intent fits, whatever share of the observed messages fits
// none, and how often the likeliest is right.
func TestFitConfidence(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		right, wrong, none int
		strange, want      float64
	}{
		"as observed":            {600, 200, 200, 0.2, 0.6},
		"fewer fit none":         {600, 200, 200, 0.1, 0.675},
		"half fit none":          {600, 200, 200, 0.5, 0.375},
		"what fits is all right": {800, 0, 200, 0.2, 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			var obs []Observed
			for i := range row.right + row.wrong + row.none {
				o := Observed{}
				o.outcome.signals[sigBias] = 1
				o.outcome.inScope, o.outcome.correct = i < row.right+row.wrong, i < row.right
				obs = append(obs, o)
			}
			c := FitConfidence(obs, row.strange)
			require.InDelta(t, row.want, c.Of(&obs[0]), 0.01)
		})
	}
}

// An observed answer has the signals that the confidence is computed from.
func TestObserve(t *testing.T) {
	t.Parallel()
	cat := intents.NewCatalog([]intents.Intent{
		{ID: "PARCEL", Name: "Parcel", Triggers: []string{"Parcel"}},
		{ID: "REFUND", Name: "Refund", Triggers: []string{"Refund"}},
	})
	m := Train(cat)
	c := ThinConfidence(true, false)
	for _, row := range []struct {
		message, intent string
		right, strange  bool
	}{
		{"where is my parcel", "PARCEL", true, false},
		{"where is my parcel", "REFUND", false, false},
		{"where is my parcel", "", false, true},
	} {
		in := classify.Input{Catalog: cat, Latest: row.message}
		o, ok := m.Observe(in, nil, nil, row.intent)
		require.True(t, ok)
		require.Equal(t, row.right, o.Right())
		require.Equal(t, row.strange, o.Strange())
		require.False(t, o.Vectors)
		require.InDelta(t, m.Try(in, nil, nil).Chance, c.Of(&o), 1e-9, "of names alone the confidence is that of the constants")
	}
	_, ok := m.Observe(classify.Input{Catalog: cat, Latest: "?"}, nil, nil, "")
	require.False(t, ok, "nothing is known of it")
}
