package main

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"

	"intenthint/classify"
	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/intents"
)

// remembering is the built-in encoder; it encodes a text of several sets once.
type remembering struct {
	embedder *encoder.Embedder
	vectors  map[string][]float32
}

// Vectors implements [classify.Embedder].
func (r *remembering) Vectors(ctx context.Context, texts []string) (map[string][]float32, error) {
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return r.vectors[text] != nil })
	made, _, err := r.embedder.Embed(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, text := range missing {
		r.vectors[text] = made[i]
	}
	out := make(map[string][]float32, len(texts))
	for _, text := range texts {
		out[text] = r.vectors[text]
	}
	return out, nil
}

// train makes the tier of a catalogue, as the running system does; nil when no
// text of it is English.
func (r *remembering) train(ctx context.Context, catalog *intents.Catalog, words *local.Model) (*classify.Embedding, *local.Embedded, error) {
	if r.embedder == nil {
		var err error
		if r.embedder, err = encoder.NewEmbedder(runtime.GOMAXPROCS(0), encoder.RecentTexts); err != nil {
			return nil, nil, err
		}
	}
	found := make(map[string][]float32)
	for _, text := range local.TextsOf(catalog) {
		found[text] = nil
	}
	made, err := r.Vectors(ctx, local.FewTextsOf(catalog, encoder.MaxTexts, r.embedder.Fits))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(found, made)
	embedded, err := local.TrainEmbedded(words, found)
	if errors.Is(err, local.ErrNoVectors) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return classify.NewBuiltIn(encoder.Ref, r, embedded, r.embedder.Fits), embedded, nil
}
