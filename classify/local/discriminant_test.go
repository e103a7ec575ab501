package local

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// placed is a model of three intents whose vectors are placed, but not learnt from.
func placed(t *testing.T, dimensions int, without func(sample) bool) (*Embedded, []sample) {
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
	require.NoError(t, e.place(samples, vectors))
	return e, samples
}

func TestTheDiscriminantKnowsItsExamples(t *testing.T) {
	e, samples := placed(t, 256, nil)
	d := e.newDiscriminant(samples, nil)
	for i, sm := range samples {
		if sm.class >= 0 {
			first, _ := top(d.scores(e.rows[i]), nil)
			require.Equal(t, int(sm.class), first, sm.text)
		}
	}
	require.Equal(t, d, e.newDiscriminant(samples, nil), "equal examples give equal weights")
}

func TestTheDiscriminantDoesNotKnowWhatIsHeldOut(t *testing.T) {
	e, samples := placed(t, 256, nil)
	skip := make([]bool, len(samples))
	skip[0] = true
	all, less := e.newDiscriminant(samples, nil), e.newDiscriminant(samples, skip)
	class := samples[0].class
	require.Greater(t, all.scores(e.rows[0])[class], less.scores(e.rows[0])[class])
}

func TestAnIntentWithoutVectorsDoesNotWinByThat(t *testing.T) {
	e, samples := placed(t, 256, func(sm sample) bool { return sm.class == 0 })
	d := e.newDiscriminant(samples, nil)
	for i, sm := range samples {
		if sm.class > 0 {
			first, _ := top(d.scores(e.rows[i]), nil)
			require.Equal(t, int(sm.class), first, sm.text)
		}
	}
}

func TestVectorsOfManyNumbersHaveNoDiscriminant(t *testing.T) {
	e, samples := placed(t, maxDiscriminant+1, nil)
	require.Nil(t, e.newDiscriminant(samples, nil))
	require.Nil(t, e.newDiscriminant(samples, nil).scores(e.rows[0]))
}

func TestSolveCholesky(t *testing.T) {
	// The factor of [[4 2] [2 10]].
	factor, b := []float64{2, 0, 1, 3}, []float64{8, 22}
	solveCholesky(factor, b)
	require.InDeltaSlice(t, []float64{1, 2}, b, 1e-12)
	require.False(t, math.IsNaN(b[0]))
}
