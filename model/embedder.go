package model

import (
	"context"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/model/provider"
)

// recentTexts is how many vectors are cached: a few megabytes.
const recentTexts = 512

// EmbeddingClient turns texts into vectors, one for each, of length 1 or
// [provider.IsBlank].
type EmbeddingClient interface {
	Embed(ctx context.Context, texts []string) ([][]float32, provider.Usage, error)
}

// Embedder asks one embedding model for the vectors of texts. It is immutable
// except for its cache and the questions in progress.
type Embedder struct {
	ref        string
	client     EmbeddingClient
	dimensions int
	opts       Options
	recent     *lru.Cache[string, []float32] // by text
	flights    flights
}

// NewEmbedder returns the embedder of the model provider/model, whose vectors
// must have the given number of dimensions.
func NewEmbedder(ref string, client EmbeddingClient, dimensions int, opts Options) *Embedder {
	// It fails only for a size that is not positive.
	recent, _ := lru.New[string, []float32](recentTexts)
	return &Embedder{ref: ref, client: client, dimensions: dimensions, opts: opts, recent: recent}
}

// Vectors returns the vector of each text, by text; nil for a text in which the
// model finds no words. The model is asked once, for the texts that are not
// cached; concurrent requests for the same texts share one question. Errors are
// [ErrDeadline] and [ErrFailed]; the latter wraps [ErrOpen] when the circuit
// breaker is open.
func (e *Embedder) Vectors(ctx context.Context, texts []string) (map[string][]float32, error) {
	vectors := make(map[string][]float32, len(texts))
	var missing []string
	for _, text := range texts {
		if vector, ok := e.recent.Get(text); ok {
			vectors[text] = vector
		} else {
			missing = append(missing, text)
		}
	}
	if len(missing) == 0 {
		return vectors, nil
	}
	key := strings.Join(missing, "\x00")
	asked, err := share(ctx, &e.flights, e.opts, e.ref, key, func(ctx context.Context, deadline time.Time) (Answer[[][]float32], error) {
		return e.ask(ctx, deadline, missing)
	})
	if err != nil {
		return nil, err
	}
	for i, text := range missing {
		vectors[text] = asked.Value[i]
	}
	return vectors, nil
}

func (e *Embedder) ask(ctx context.Context, deadline time.Time, texts []string) (Answer[[][]float32], error) {
	done, err := e.opts.admit(e.ref)
	if err != nil {
		return Answer[[][]float32]{}, err
	}
	answer, err := call(ctx, e.opts, e.ref, deadline, done, func() ([][]float32, provider.Usage, error) {
		vectors, usage, err := e.client.Embed(ctx, texts)
		if err == nil {
			err = e.check(vectors, len(texts))
		}
		return vectors, usage, err
	})
	if err == nil {
		for i, text := range texts {
			if provider.IsBlank(answer.Value[i]) {
				answer.Value[i] = nil
			}
			e.recent.Add(text, answer.Value[i])
		}
	}
	return answer, err
}

func (e *Embedder) check(vectors [][]float32, texts int) error {
	if len(vectors) != texts {
		return fmt.Errorf("%w: %d vectors for %d texts", ErrUnparsable, len(vectors), texts)
	}
	for _, v := range vectors {
		if len(v) != e.dimensions {
			return fmt.Errorf("%w: the vectors have %d dimensions, those of the catalogue have %d", ErrUnparsable, len(v), e.dimensions)
		}
	}
	return nil
}
