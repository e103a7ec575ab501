package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/tidwall/gjson"

	"intenthint/internal/text"
)

// maxEmbeddingBody bounds the response of an embedding model, in bytes: a hundred
// texts in vectors of some thousand numbers.
const maxEmbeddingBody = 16 << 20

// Embedder is one embedding model of one provider.
type Embedder struct {
	client *client
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
	return &Embedder{client: &patient, model: model, Ref: c.name + "/" + model, BaseURL: c.baseURL}, nil
}

type embeddingRequest struct {
	Model string   `json:"model"`
	Input []string `json:"input"`
}

// Embed returns a vector for each text, in their order, all of the same dimension
// and each of length 1, or [IsBlank]. It asks once and returns when ctx is done.
// Any other answer is [ErrMalformed]; a usage may come with an error.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	resp, err := e.client.post(ctx, e.BaseURL+"/embeddings", embeddingRequest{Model: e.model, Input: texts})
	if err != nil {
		return nil, Usage{}, plain(ctx, err)
	}
	usage := openAIUsage(resp)
	vectors, err := vectorsOf(resp.Get("data"), len(texts))
	if err != nil {
		return nil, usage, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return vectors, usage, nil
}

// vectorsOf returns the n vectors of a response in the order of the texts. Without
// any index that is the order of the list.
func vectorsOf(data gjson.Result, n int) ([][]float32, error) {
	var list []gjson.Result
	if data.IsArray() {
		list = data.Array()
	}
	if len(list) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(list), n)
	}
	ordered := slices.ContainsFunc(list, func(d gjson.Result) bool { return d.Get("index").Type != gjson.Null })
	out := make([][]float32, n)
	dimensions := 0
	for i, d := range list {
		at := i
		if ordered {
			index := d.Get("index")
			at = int(index.Num)
			if index.Type != gjson.Number || index.Num != math.Trunc(index.Num) || at < 0 || at >= n || out[at] != nil {
				return nil, fmt.Errorf("vector %d has the index %s", i, text.OneLine(cmp.Or(index.Raw, "null"), 40))
			}
		}
		var v []float32
		if err := json.Unmarshal([]byte(d.Get("embedding").Raw), &v); err != nil {
			return nil, fmt.Errorf("vector %d: %w", i, err)
		}
		if i == 0 {
			dimensions = len(v)
		}
		if len(v) != dimensions {
			return nil, fmt.Errorf("vectors of %d and %d numbers", dimensions, len(v))
		}
		if !normalize(v) && (len(v) == 0 || !IsBlank(v)) {
			return nil, fmt.Errorf("vector %d cannot be normalized", i)
		}
		out[at] = v
	}
	return out, nil
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
