package vectors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

// The built-in intents may be newer than the vectors, which are made once a release.
func TestShippedVectorsAreThoseOfTheEncoder(t *testing.T) {
	const samples = 8
	e, err := encoder.NewEmbedder(2, encoder.RecentTexts)
	require.NoError(t, err)
	texts := local.TextsOf(intents.Bundled())
	found := vectors.Bundled(texts)
	for i, text := range texts {
		v := found[text]
		if !e.Fits(text) {
			require.Nil(t, v, "a vector of “%s” would mean nothing", text)
		}
		if v == nil || i%(len(texts)/samples) > 2 {
			continue
		}
		made, err := e.Vectors(t.Context(), []string{text})
		require.NoError(t, err)
		require.Greater(t, cosine(v, made[text]), float32(0.999), "“%s” has another vector", text)
	}
	require.Greater(t, len(found), 1000)
}

func TestFile(t *testing.T) {
	a, b := make([]float32, 512), make([]float32, 512)
	a[3], b[7], b[8] = 1, 0.6, -0.8
	file, err := vectors.EncodeBundled(map[string][]float32{"a": a, "b": b})
	require.NoError(t, err)
	opened := vectors.OpenFile(file)
	found := opened.Vectors([]string{"b", "a", "c"})
	require.Len(t, found, 2)
	for text, v := range map[string][]float32{"a": a, "b": b} {
		require.InDeltaSlice(t, v, found[text], 0.01, text)
	}
	require.ElementsMatch(t, []int{0, 1}, []int{opened.Place("a"), opened.Place("b")})
	require.Equal(t, -1, opened.Place("c"))
	require.Len(t, opened.Numbers(), 2*(4+512))
	for name, other := range map[string]string{"another format": "x" + string(file[1:]), "cut off": string(file[:len(file)-1]), "no more than a header": string(file[:12]), "nothing": ""} {
		require.Empty(t, vectors.OpenFile([]byte(other)).Vectors([]string{"a", "b"}), name)
	}
	third, err := vectors.EncodeBundled(map[string][]float32{"a": a, "c": b})
	require.NoError(t, err)
	require.NotEqual(t, opened.Sum(), vectors.OpenFile(third).Sum())
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
