package main

import (
	"context"
	"os"

	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

const classifierFile = "classify/local/shipped.bin"

// classifierWeights makes what the local classifier learns from the built-in intents
// and the vectors in the tree.
func classifierWeights(_ context.Context, into tree) error {
	embedder, err := encoder.NewEmbedder(1, encoder.RecentTexts)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(into.path(vectorsFile))
	if err != nil {
		return err
	}
	file, catalog := vectors.OpenFile(data), intents.Bundled()
	read := local.FewTextsOf(catalog, encoder.MaxTexts, embedder.Fits)
	data, err = local.EncodeShipped(vectors.Among(local.TextsOf(catalog), file.Vectors(read)), file)
	if err != nil {
		return err
	}
	return into.write(classifierFile, data)
}
