//go:build release

package local_test

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

const generate = "run: make weights"

// shippedVectors are those that a consumer uses for the built-in intents.
func shippedVectors(t *testing.T) map[string][]float32 {
	t.Helper()
	embedder, err := encoder.NewEmbedder(1, encoder.RecentTexts)
	require.NoError(t, err)
	catalog := intents.Bundled()
	return vectors.Among(local.TextsOf(catalog), vectors.Bundled(local.FewTextsOf(catalog, encoder.MaxTexts, embedder.Fits)))
}

func TestShippedIsForTheBuiltInIntents(t *testing.T) {
	require.True(t, local.HasShipped(intents.Bundled()), generate)
	require.NotNil(t, local.ShippedEmbedded(local.Trained(intents.Bundled()), vectors.OpenBundled()), generate)
}

func TestShippedIsWhatTrainingFinds(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round otherwise")
	}
	data, err := local.EncodeShipped(shippedVectors(t), vectors.OpenBundled())
	require.NoError(t, err)
	want, err := os.ReadFile("shipped.bin")
	require.NoError(t, err)
	require.Equal(t, len(want), len(data), generate)
	require.True(t, string(want) == string(data), generate)
}

// docs/scaling.md says what each part takes, in MB.
func TestSizesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/scaling.md")
	require.NoError(t, err)
	sizes := local.ShippedSizes()
	sizes["vectors of the English texts"] = len(vectors.OpenBundled().Numbers())
	for part, bytes := range sizes {
		row := regexp.MustCompile(`(?m)^\| ` + part + `[^|]*\| ([0-9.]+) \|`).FindSubmatch(doc)
		require.NotNil(t, row, "docs/scaling.md has no row for the %s", part)
		stated, err := strconv.ParseFloat(string(row[1]), 64)
		require.NoError(t, err)
		require.InDelta(t, float64(bytes)/1e6, stated, 0.1+0.1*stated, "docs/scaling.md states another size of the %s", part)
	}
}
