package vectors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

func TestTheVectorsOfTheBuiltInDefinitionsAreShipped(t *testing.T) {
	const samples = 8
	e, err := encoder.NewEmbedder(2, encoder.RecentTexts)
	require.NoError(t, err)
	texts := local.TextsOf(intents.Bundled())
	found := vectors.Bundled(texts)
	fit := 0
	for i, text := range texts {
		v := found[text]
		if !e.Fits(text) {
			require.Nil(t, v, "a vector of “%s” would mean nothing", text)
			continue
		}
		require.NotNil(t, v, "“%s” has no vector: run go generate ./classify/vectors", text)
		if fit++; i%(len(texts)/samples) > 2 {
			continue
		}
		made, err := e.Vectors(t.Context(), []string{text})
		require.NoError(t, err)
		require.Greater(t, cosine(v, made[text]), float32(0.999), "“%s” has another vector: delete bundled.bin and run go generate ./classify/vectors", text)
	}
	require.Greater(t, fit, 1000)
}

func TestBundledTellsTextsApart(t *testing.T) {
	require.Empty(t, vectors.Bundled([]string{"no example of any intent has these words", ""}))
}

func TestEncodeBundledRefuses(t *testing.T) {
	_, err := vectors.EncodeBundled(map[string][]float32{"rain": {1, 0}})
	require.ErrorContains(t, err, "2 numbers, not 512")
}

// cosine is that of b, of length 1, and a, whose length is almost 1.
func cosine(a, b []float32) float32 {
	sum := float32(0)
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
