package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

const vectorsFile = "classify/vectors/bundled.bin"

// vectorFile makes the vectors of the built-in intents. Vectors that are shipped
// already are reused, unless the encoder now makes others of the same texts.
func vectorFile(ctx context.Context, into tree) error {
	embedder, err := encoder.NewEmbedder(runtime.GOMAXPROCS(0), encoder.RecentTexts)
	if err != nil {
		return err
	}
	texts := slices.DeleteFunc(local.TextsOf(intents.Bundled()), func(text string) bool { return !embedder.Fits(text) })
	found := vectors.Bundled(texts)
	valid, err := reusable(ctx, embedder, found)
	if err != nil {
		return err
	}
	if !valid {
		clear(found)
	}
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return found[text] != nil })
	made, _, err := embedder.Embed(ctx, missing)
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
	return into.write(vectorsFile, data)
}

// reusable reports whether the encoder makes the vectors that were found, by a
// few of them.
func reusable(ctx context.Context, embedder *encoder.Embedder, found map[string][]float32) (bool, error) {
	const samples = 16
	var texts []string
	for text := range found {
		if texts = append(texts, text); len(texts) == samples {
			break
		}
	}
	made, _, err := embedder.Embed(ctx, texts)
	if err != nil {
		return false, err
	}
	for i, text := range texts {
		if !alike(made[i], found[text]) {
			return false, nil
		}
	}
	return true, nil
}

// alike reports whether b is a, which has length 1, but for rounding to 8 bits.
func alike(a, b []float32) bool {
	const least = 0.999
	if len(a) != len(b) {
		return false
	}
	cosine := float32(0)
	for i := range a {
		cosine += a[i] * b[i]
	}
	return cosine > least
}
