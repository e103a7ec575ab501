package classify

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

// ranking is a local classifier with a runner-up.
type ranking struct{ first, second string }

func (r ranking) Classify(Input) payload.Classification {
	return payload.Classification{Intent: r.first, Confidence: 0.6, RunnerUp: r.second, RunnerUpConfidence: 0.3}
}

func TestRunnerUp(t *testing.T) {
	for _, row := range []struct {
		name       string
		mode       Mode
		local      Local
		model      Model
		want       string
		confidence float64
	}{
		{"local", ModeLocal, ranking{"A", "B"}, nil, "B", 0.3},
		{"a model of another opinion", ModeHedged, ranking{"A", "B"}, after(0, nil), "A", 0.6},
		{"a model of the same opinion", ModeHedged, ranking{"MEMORY_LOOKUP", "B"}, after(0, nil), "B", 0.3},
		{"cascade", ModeCascade, ranking{"A", "B"}, after(0, nil), "A", 0.6},
		{"a model that fails", ModeHedged, ranking{"A", "B"}, after(0, errors.New("down")), "B", 0.3},
		{"a model alone", ModeLLM, nil, after(0, nil), "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := New(row.mode, row.local, row.model, Options{LocalAccept: 0.9}).Classify(ctx, Input{})
			require.NoError(t, err)
			require.Equal(t, row.want, got.RunnerUp)
			require.InDelta(t, row.confidence, got.RunnerUpConfidence, 1e-12)
		})
	}
}
