// Command bundle makes the vectors of the built-in intents that are shipped
// with the binary:
//
//	go generate ./classify/vectors
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"

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

// run writes the file into the folder of package vectors, where go generate runs.
// Vectors that the file already has are reused.
func run() error {
	embedder, err := encoder.NewEmbedder(runtime.GOMAXPROCS(0), encoder.RecentTexts)
	if err != nil {
		return err
	}
	texts := slices.DeleteFunc(local.TextsOf(intents.Bundled()), func(text string) bool { return !embedder.Fits(text) })
	found := vectors.Bundled(texts)
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return found[text] != nil })
	made, _, err := embedder.Embed(context.Background(), missing)
	if err != nil {
		return err
	}
	for i, text := range missing {
		found[text] = made[i]
	}
	data, err := vectors.EncodeBundled(found)
	if err != nil {
		return err
	}
	fmt.Println(len(texts), "texts,", len(missing), "of them new")
	return os.WriteFile("bundled.bin", data, 0o600)
}
