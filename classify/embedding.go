package classify

import (
	"context"
	"errors"
	"fmt"

	"intenthint/model"
	"intenthint/payload"
)

// Vectored classifies by the vectors of texts; it is a [Local] that needs them.
type Vectored interface {
	// Texts returns the texts whose vectors it needs for a message; empty for a
	// message without words.
	Texts(in Input) []string
	// Dimensions returns how many numbers each vector must have.
	Dimensions() int
	ClassifyVectors(in Input, vectors map[string][]float32) payload.Classification
	// NeedsConversation reports whether a message has its meaning from the conversation, so that its
	// own vector says nothing.
	NeedsConversation(in Input) bool
}

// ErrUnfit reports a message whose vector would be meaningless, for example in
// a language that the embedding model does not know.
var ErrUnfit = errors.New("message unfit for the embedding model")

// ErrNeedsConversation reports a message that has its meaning from the conversation: its own vector
// would say nothing.
var ErrNeedsConversation = errors.New("message needs the conversation")

// Embedder returns the vector of each text, by text, like [model.Embedder].
type Embedder interface {
	Vectors(ctx context.Context, texts []string) (map[string][]float32, error)
}

// Embedding classifies a message with the help of an embedding model, which is
// asked for the vector of the message.
type Embedding struct {
	ref      string
	embedder Embedder
	model    Vectored
	fits     func(text string) bool // nil for a model that accepts all texts
}

// NewEmbedding returns the tier of the embedding model provider/model.
func NewEmbedding(ref string, client model.EmbeddingClient, vectored Vectored, opts model.Options) *Embedding {
	return &Embedding{ref: ref, embedder: model.NewEmbedder(ref, client, vectored.Dimensions(), opts), model: vectored}
}

// NewBuiltIn returns the tier of an embedding model in this process. It is asked
// only about messages for which fits returns true, and for the vector of the message
// alone; for others Classify returns [ErrUnfit], for messages that lean on the
// conversation [ErrNeedsConversation].
func NewBuiltIn(ref string, embedder Embedder, vectored Vectored, fits func(text string) bool) *Embedding {
	return &Embedding{ref: ref, embedder: embedder, model: vectored, fits: fits}
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

// Vectors returns the vectors from which a message is classified. Its errors
// are those of Classify, and may wrap [ErrUnfit] or [ErrNeedsConversation].
func (e *Embedding) Vectors(ctx context.Context, in Input) (map[string][]float32, error) {
	texts := e.model.Texts(in)
	if len(texts) == 0 {
		return nil, fmt.Errorf("%w: no words", ErrFailed)
	}
	if e.fits == nil {
		return e.embedder.Vectors(ctx, texts)
	}
	converses := len(in.Before()) > 0
	switch {
	case !e.fits(texts[0]), len(texts) > 1 && !converses:
		return nil, fmt.Errorf("%w: %w", ErrFailed, ErrUnfit)
	case converses && e.model.NeedsConversation(in):
		return nil, fmt.Errorf("%w: %w", ErrFailed, ErrNeedsConversation)
	}
	return e.embedder.Vectors(ctx, texts[:1])
}
