package provider

import (
	"context"
	"fmt"
	"math"
	"slices"

	openai "github.com/sashabaranov/go-openai"
)

// maxEmbeddingBody bounds the response of an embedding model, in bytes: a hundred
// texts in vectors of some thousand numbers.
const maxEmbeddingBody = 16 << 20

// Embedder is one embedding model of one provider.
type Embedder struct {
	client *openai.Client
	model  string
	// Ref is provider/model.
	Ref string
	// BaseURL is where the model is asked: the same name elsewhere may be another
	// model.
	BaseURL string
}

// Embedder returns the embedding model of a reference. It opens no connection.
// Errors are [ErrUnresolved].
func (r *Registry) Embedder(ref string) (*Embedder, error) {
	c, model, err := r.find(ref)
	switch {
	case err != nil:
		return nil, err
	case c.api != APIOpenAI:
		return nil, fmt.Errorf("%w: provider %q speaks %s, which has no embeddings; it must speak %s", ErrUnresolved, c.name, c.api, APIOpenAI)
	case c.err != nil:
		return nil, c.err
	}
	patient := *c.client
	patient.limit = maxEmbeddingBody
	cfg := openai.DefaultConfig(c.client.key)
	cfg.BaseURL, cfg.HTTPClient = c.baseURL, &patient
	return &Embedder{client: openai.NewClientWithConfig(cfg), model: model, Ref: c.name + "/" + model, BaseURL: c.baseURL}, nil
}

// Embed returns a vector for each text, in their order, all of the same dimension
// and each of length 1, or [IsBlank]. It asks once and returns when ctx is done.
// Any other answer is [ErrMalformed]; a usage may come with an error.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	resp, err := e.client.CreateEmbeddings(ctx, openai.EmbeddingRequest{Input: texts, Model: openai.EmbeddingModel(e.model)})
	if err != nil {
		return nil, Usage{}, plain(ctx, err)
	}
	usage := Usage{InputTokens: resp.Usage.PromptTokens}
	if len(resp.Data) != len(texts) {
		return nil, usage, fmt.Errorf("%w: %d vectors for %d texts", ErrMalformed, len(resp.Data), len(texts))
	}
	out := make([][]float32, len(texts))
	for i, d := range resp.Data {
		if d.Index < 0 || d.Index >= len(out) || out[d.Index] != nil {
			return nil, usage, fmt.Errorf("%w: vector %d has the index %d", ErrMalformed, i, d.Index)
		}
		if len(d.Embedding) != len(resp.Data[0].Embedding) {
			return nil, usage, fmt.Errorf("%w: vectors of %d and %d numbers", ErrMalformed, len(resp.Data[0].Embedding), len(d.Embedding))
		}
		if !normalize(d.Embedding) && (len(d.Embedding) == 0 || !IsBlank(d.Embedding)) {
			return nil, usage, fmt.Errorf("%w: vector %d cannot be normalized", ErrMalformed, i)
		}
		out[d.Index] = d.Embedding
	}
	return out, usage, nil
}

// IsBlank reports whether a vector is all zeros: the model found nothing in the
// text, for example because small models know no emoji. The text then counts by
// its words.
func IsBlank(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}

// normalize scales a vector to length 1, and reports whether that can be done.
func normalize(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 1e-30) || math.IsInf(sum, 0) {
		return false
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return true
}
