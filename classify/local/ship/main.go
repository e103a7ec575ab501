// Command ship makes the training result for the built-in intents that the
// binary ships, from the vectors that package vectors ships:
//
//	go generate ./classify/vectors
package main

import (
	"fmt"
	"os"

	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

func main() {
	if err := run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the file into the folder of package local; go generate runs it in
// the folder of package vectors.
func run() error {
	embedder, err := encoder.NewEmbedder(1, encoder.RecentTexts)
	if err != nil {
		return err
	}
	catalog := intents.Bundled()
	read := local.FewTextsOf(catalog, encoder.MaxTexts, embedder.Fits)
	data, err := local.EncodeShipped(vectors.BundledAmong(local.TextsOf(catalog), read))
	if err != nil {
		return err
	}
	fmt.Println(len(data), "bytes")
	return os.WriteFile("../local/shipped.bin", data, 0o600)
}
