// Package encoded trains the tier of the built-in encoder for evaluations. Unlike the
// running system it waits for every vector.
package encoded

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"

	"intenthint/classify"
	"intenthint/classify/encoder"
	"intenthint/classify/local"
	"intenthint/classify/vectors"
	"intenthint/intents"
)

// Encoder is the built-in encoder. It encodes a text that occurs in several
// sets only once, unless it is requested concurrently. It is safe for
// concurrent use.
type Encoder struct {
	embedder *encoder.Embedder
	mu       sync.Mutex
	vectors  map[string][]float32
}

// New returns the encoder.
func New() (*Encoder, error) {
	embedder, err := encoder.NewEmbedder(runtime.GOMAXPROCS(0), encoder.RecentTexts)
	if err != nil {
		return nil, err
	}
	return &Encoder{embedder: embedder, vectors: make(map[string][]float32)}, nil
}

// Texts returns how many texts were encoded.
func (e *Encoder) Texts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.vectors)
}

// Vectors implements [classify.Embedder].
func (e *Encoder) Vectors(ctx context.Context, texts []string) (map[string][]float32, error) {
	out := make(map[string][]float32, len(texts))
	e.mu.Lock()
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		out[text] = e.vectors[text]
		return out[text] != nil
	})
	e.mu.Unlock()
	made, _, err := e.embedder.Embed(ctx, missing)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, text := range missing {
		e.vectors[text], out[text] = made[i], made[i]
	}
	return out, nil
}

// Options are those of a classifier with the tier.
func Options(tier *classify.Embedding) classify.Options {
	return classify.Options{Embedding: tier, Bounds: classify.Bounds{Accept: encoder.Accept, Share: 1}}
}

// Train makes the tier of a catalogue, as the running system does; nil when no
// text of it is English.
func (e *Encoder) Train(ctx context.Context, catalog *intents.Catalog, words *local.Model) (*classify.Embedding, *local.Embedded, error) {
	found := make(map[string][]float32)
	for _, text := range local.TextsOf(catalog) {
		found[text] = nil
	}
	made, err := e.Vectors(ctx, local.FewTextsOf(catalog, encoder.MaxTexts, e.embedder.Fits))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(found, vectors.Bundled(words.Background()))
	maps.Copy(found, made)
	embedded, err := local.TrainEmbedded(words, found)
	if errors.Is(err, local.ErrNoVectors) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return classify.NewBuiltIn(encoder.Ref, e, embedded, e.embedder.Fits), embedded, nil
}
