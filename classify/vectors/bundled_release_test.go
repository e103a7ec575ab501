//go:build release

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
	e, err := encoder.NewEmbedder(2, encoder.RecentTexts)
	require.NoError(t, err)
	texts := local.TextsOf(intents.Bundled())
	found := vectors.Bundled(texts)
	fit := 0
	for _, text := range texts {
		if e.Fits(text) {
			require.NotNil(t, found[text], "“%s” has no vector: run make weights", text)
			fit++
		}
	}
	require.Greater(t, fit, 1000)
}
