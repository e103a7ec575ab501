package classify

import (
	"context"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/model/provider"
	"intenthint/payload"
)

// recentTexts is how many texts' vectors are remembered: a few megabytes.
const recentTexts = 512

// Embedder turns texts into vectors of length 1, one for each.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, provider.Usage, error)
}

// Vectored classifies by the vectors of texts; it is a [Local] that wants them.
type Vectored interface {
	// Texts are those whose vectors it wants for a message; none for a message
	// without words.
	Texts(in Input) []string
	// Dimensions is how many numbers each must have.
	Dimensions() int
	ClassifyVectors(in Input, vectors map[string][]float32) payload.Classification
}

// Embedding classifies a message with the help of an embedding model, which is
// asked for the vector of the message. It implements [Model] and is immutable
// but for the texts it remembers and the questions in flight: the same texts at
// the same time are one question.
type Embedding struct {
	ref       string
	embedder  Embedder
	model     Vectored
	opts      ChainOptions
	recent    *lru.Cache[string, []float32] // by text
	questions questions[string, [][]float32]
}

// NewEmbedding returns the tier of the embedding model provider/model.
func NewEmbedding(ref string, embedder Embedder, model Vectored, opts ChainOptions) *Embedding {
	// The only error is a size that is not positive.
	recent, _ := lru.New[string, []float32](recentTexts)
	return &Embedding{ref: ref, embedder: embedder, model: model, opts: opts, recent: recent}
}

// Classify implements [Model]: source and model of the result are set. Its
// errors are [ErrDeadline] and [ErrFailed]; the latter wraps [ErrOpen] when the
// embedding model is left alone.
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
		return nil, fmt.Errorf("%w: there are no words", ErrFailed)
	}
	vectors, missing := e.remembered(texts)
	if len(missing) == 0 {
		return vectors, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, failure(ctx, err)
	}
	asked, shared, err := e.questions.ask(ctx, strings.Join(missing, "\x00"), func(ctx context.Context, deadline time.Time) ([][]float32, error) {
		return e.ask(ctx, deadline, missing)
	})
	if shared {
		e.opts.tell(Call{Ref: e.ref, Outcome: OutcomeShared})
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	for i, text := range missing {
		vectors[text] = asked[i]
	}
	return vectors, nil
}

// remembered returns the vectors of those texts that were asked for lately, and
// the other texts.
func (e *Embedding) remembered(texts []string) (vectors map[string][]float32, missing []string) {
	vectors = make(map[string][]float32, len(texts))
	for _, text := range texts {
		if vector, ok := e.recent.Get(text); ok {
			vectors[text] = vector
		} else {
			missing = append(missing, text)
		}
	}
	return vectors, missing
}

// ask asks the embedding model once, unless it is left alone.
func (e *Embedding) ask(ctx context.Context, deadline time.Time, texts []string) ([][]float32, error) {
	call := Call{Ref: e.ref, Outcome: OutcomeFailed}
	report, err := e.opts.Breakers.admit(e.ref, true)
	if err != nil {
		call.Outcome, call.Err = OutcomeOpen, err
		e.opts.tell(call)
		return nil, err
	}
	start := time.Now()
	vectors, err := guarded(func() ([][]float32, error) { return e.embed(ctx, deadline, texts, &call) })
	call.Duration, call.Err = time.Since(start), err
	report(blame(call))
	e.opts.tell(call)
	if err == nil {
		for i, text := range texts {
			e.recent.Add(text, vectors[i])
		}
	}
	return vectors, err
}

func (e *Embedding) embed(ctx context.Context, deadline time.Time, texts []string, call *Call) (vectors [][]float32, err error) {
	// The shared context has no deadline of its own; it ends when the last who
	// waits has gone.
	vectors, call.Usage, err = e.embedder.Embed(ctx, texts)
	if err != nil {
		call.Outcome, err = judge(ctx, deadline, err)
		return nil, err
	}
	if len(vectors) != len(texts) {
		call.Outcome = OutcomeUnparsable
		return nil, fmt.Errorf("%d vectors for %d texts", len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) != e.model.Dimensions() {
			call.Outcome = OutcomeUnparsable
			return nil, fmt.Errorf("the vectors have %d dimensions, those of the catalogue have %d", len(v), e.model.Dimensions())
		}
	}
	call.Outcome = OutcomeOK
	return vectors, nil
}
