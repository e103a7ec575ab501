package classify

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"intenthint/classify/provider"
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
	recent    recentVectors
	questions questions[string, [][]float32]
}

// NewEmbedding returns the tier of the embedding model provider/model.
func NewEmbedding(ref string, embedder Embedder, model Vectored, opts ChainOptions) *Embedding {
	return &Embedding{ref: ref, embedder: embedder, model: model, opts: opts}
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
	vectors, missing := e.recent.find(texts)
	if len(missing) == 0 {
		return vectors, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, failure(ErrDeadline, []error{err})
	}
	asked, shared, err := e.questions.ask(ctx, strings.Join(missing, "\x00"), func(ctx context.Context, deadline time.Time) ([][]float32, error) {
		return e.ask(ctx, deadline, missing)
	})
	if shared {
		e.tell(Call{Ref: e.ref, Outcome: OutcomeShared})
	}
	switch {
	case err != nil && late(ctx, err):
		return nil, failure(ErrDeadline, []error{err})
	case err != nil:
		return nil, failure(ErrFailed, []error{err})
	}
	for i, text := range missing {
		vectors[text] = asked[i]
	}
	return vectors, nil
}

func (e *Embedding) tell(call Call) {
	if e.opts.Observer != nil {
		e.opts.Observer.ModelCalled(call)
	}
}

// ask asks the embedding model once, unless it is left alone.
func (e *Embedding) ask(ctx context.Context, deadline time.Time, texts []string) ([][]float32, error) {
	call := Call{Ref: e.ref}
	report, err := e.opts.Breakers.admit(e.ref, true)
	if err != nil {
		call.Outcome, call.Err = OutcomeOpen, err
		e.tell(call)
		return nil, err
	}
	start := time.Now()
	vectors, err := e.embed(ctx, deadline, texts, &call)
	call.Duration, call.Err = time.Since(start), err
	report(blame(call))
	e.tell(call)
	if err == nil {
		e.recent.add(texts, vectors)
	}
	return vectors, err
}

func (e *Embedding) embed(ctx context.Context, deadline time.Time, texts []string, call *Call) (vectors [][]float32, err error) {
	// A panic in one of the libraries that read what providers send costs one
	// answer, not the process.
	defer func() {
		if p := recover(); p != nil {
			call.Outcome = OutcomeFailed
			vectors, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
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

// recentVectors remembers the vectors of the texts that were used last. The
// zero value is ready for use.
type recentVectors struct {
	mu     sync.Mutex
	order  list.List // of remembered, the last used first
	byText map[string]*list.Element
}

type remembered struct {
	text   string
	vector []float32
}

// find returns the vectors of those texts that are known, and the others.
func (r *recentVectors) find(texts []string) (vectors map[string][]float32, missing []string) {
	vectors = make(map[string][]float32, len(texts))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range texts {
		at, ok := r.byText[text]
		if !ok {
			missing = append(missing, text)
			continue
		}
		r.order.MoveToFront(at)
		known, _ := at.Value.(remembered)
		vectors[text] = known.vector
	}
	return vectors, missing
}

func (r *recentVectors) add(texts []string, vectors [][]float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byText == nil {
		r.byText = make(map[string]*list.Element)
	}
	for i, text := range texts {
		if at, again := r.byText[text]; again {
			r.order.Remove(at)
		}
		r.byText[text] = r.order.PushFront(remembered{text, vectors[i]})
		if r.order.Len() > recentTexts {
			oldest, _ := r.order.Remove(r.order.Back()).(remembered)
			delete(r.byText, oldest.text)
		}
	}
}
