package classify

import (
	"context"
	"fmt"

	"intenthint/model"
	"intenthint/payload"
)

// Vectored classifies by the vectors of texts; it is a [Local] that wants them.
type Vectored interface {
	// Texts returns the texts whose vectors it needs for a message; empty for a
	// message without words.
	Texts(in Input) []string
	// Dimensions is how many numbers each must have.
	Dimensions() int
	ClassifyVectors(in Input, vectors map[string][]float32) payload.Classification
}

// Embedding classifies a message with the help of an embedding model, which is
// asked for the vector of the message.
type Embedding struct {
	ref      string
	embedder *model.Embedder
	model    Vectored
}

// NewEmbedding returns the tier of the embedding model provider/model.
func NewEmbedding(ref string, client model.EmbeddingClient, vectored Vectored, opts model.Options) *Embedding {
	return &Embedding{ref: ref, embedder: model.NewEmbedder(ref, client, vectored.Dimensions(), opts), model: vectored}
}

// Classify implements [Model]: source and model of the result are set. Its
// errors are those of [model.Embedder.Vectors].
func (e *Embedding) Classify(ctx context.Context, in Input) (payload.Classification, error) {
	vectors, err := e.Vectors(ctx, in)
	if err != nil {
		return payload.Classification{}, err
	}
	result := e.model.ClassifyVectors(in, vectors)
	result.Source, result.Model = payload.SourceEmbedding, e.ref
	return result, nil
}

// Vectors are those that the classification of a message goes by. Its errors
// are those of Classify.
func (e *Embedding) Vectors(ctx context.Context, in Input) (map[string][]float32, error) {
	texts := e.model.Texts(in)
	if len(texts) == 0 {
		return nil, fmt.Errorf("%w: no words", ErrFailed)
	}
	return e.embedder.Vectors(ctx, texts)
}
