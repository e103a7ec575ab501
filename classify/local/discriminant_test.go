package local

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// withVectors is a model of three intents whose vectors are placed, but not learnt from,
// with its samples and their vectors.
func withVectors(t *testing.T, dimensions int, without func(sample) bool) (*Embedded, []sample, [][]float32) {
	t.Helper()
	m := Train(tiny())
	f := grams(nil)
	samples := samplesOf(m.catalog)
	vectors := make(map[string][]float32)
	for _, sm := range samples {
		text := textOf(sm.text)
		vectors[text] = nil
		if without == nil || !without(sm) {
			vectors[text] = unit(append(f(text), make([]float32, dimensions-256)...))
		}
	}
	e := &Embedded{words: m}
	rows, err := e.place(samples, vectors)
	require.NoError(t, err)
	return e, samples, rows
}

func TestTheDiscriminantKnowsItsExamples(t *testing.T) {
	e, samples, rows := withVectors(t, 256, nil)
	d := e.newDiscriminant(samples, rows, nil)
	for i, sm := range samples {
		if sm.class >= 0 {
			first, _ := top(d.scores(rows[i]), nil)
			require.Equal(t, int(sm.class), first, sm.text)
		}
	}
	require.Equal(t, d, e.newDiscriminant(samples, rows, nil), "equal examples give equal weights")
}

func TestTheDiscriminantDoesNotKnowWhatIsHeldOut(t *testing.T) {
	e, samples, rows := withVectors(t, 256, nil)
	skip := make([]bool, len(samples))
	skip[0] = true
	all, less := e.newDiscriminant(samples, rows, nil), e.newDiscriminant(samples, rows, skip)
	class := samples[0].class
	require.Greater(t, all.scores(rows[0])[class], less.scores(rows[0])[class])
}

func TestAnIntentWithoutVectorsDoesNotWinByThat(t *testing.T) {
	e, samples, rows := withVectors(t, 256, func(sm sample) bool { return sm.class == 0 })
	d := e.newDiscriminant(samples, rows, nil)
	for i, sm := range samples {
		if sm.class > 0 {
			first, _ := top(d.scores(rows[i]), nil)
			require.Equal(t, int(sm.class), first, sm.text)
		}
	}
}

func TestVectorsOfManyNumbersHaveNoDiscriminant(t *testing.T) {
	e, samples, rows := withVectors(t, maxDiscriminant+1, nil)
	require.Nil(t, e.newDiscriminant(samples, rows, nil))
	require.Nil(t, e.newDiscriminant(samples, rows, nil).scores(rows[0]))
}

func TestSolveCholesky(t *testing.T) {
	// The factor of [[4 2] [2 10]].
	factor, b := []float64{2, 0, 1, 3}, []float64{8, 22}
	solveCholesky(factor, b)
	require.InDeltaSlice(t, []float64{1, 2}, b, 1e-12)
	require.False(t, math.IsNaN(b[0]))
}
