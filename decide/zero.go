package decide

import (
	"context"
	"errors"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"intenthint/internal/panics"
	"intenthint/part"
)

// maxRubrics bounds the rubrics that a process holds, the most recently used ones.
const maxRubrics = 64

// Zeros are the classifiers that know a question by its labels and descriptions alone.
// Each is trained when it is first asked, one at a time: half a second for a few
// labels, some seconds for 255.
type Zeros struct {
	encoder func() (part.Encoder, error) // nil for none
	// training is held while a classifier is trained, here or of a student.
	training chan struct{}

	mu    sync.Mutex
	known *lru.Cache[string, *zero]
}

// zero is a classifier, which is there once ready is closed.
type zero struct {
	ready chan struct{}
	*classifier
}

// NewZeros returns an empty set. encoder may be nil.
func NewZeros(encoder func() (part.Encoder, error)) *Zeros {
	known, _ := lru.New[string, *zero](maxRubrics) // it fails only for a size that is not positive
	return &Zeros{encoder: encoder, training: make(chan struct{}, 1), known: known}
}

// Answer returns the probabilities of a question's labels for a text. The error is that
// of ctx; the training goes on for the next request.
func (z *Zeros) Answer(ctx context.Context, rubric string, q *Question, said string) ([]float64, error) {
	own := z.of(rubric, q)
	select {
	case <-own.ready:
		if own.classifier == nil {
			return nil, errUntrained
		}
		return own.answer(ctx, q, said), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (z *Zeros) of(rubric string, q *Question) *zero {
	z.mu.Lock()
	defer z.mu.Unlock()
	if own, ok := z.known.Get(rubric); ok {
		return own
	}
	own := &zero{ready: make(chan struct{})}
	z.known.Add(rubric, own)
	question := *q
	go func() {
		defer close(own.ready)
		own.classifier, _ = z.train(context.Background(), &question, nil)
	}()
	return own
}

// train trains a classifier when no other is trained.
func (z *Zeros) train(ctx context.Context, q *Question, examples []Example) (c *classifier, err error) {
	select {
	case z.training <- struct{}{}:
		defer func() { <-z.training }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var enc part.Encoder
	if z.encoder != nil {
		enc, _ = z.encoder() // without it the words answer
	}
	err = panics.Catch(func() (err error) { // one question must not end the process
		if c, err = learnFrom(ctx, q, examples, enc); err != nil && ctx.Err() == nil {
			c, err = learnFrom(ctx, q, examples, nil)
		}
		return err
	})
	return c, err
}

// errUntrained reports a question that nothing can be learnt of.
var errUntrained = errors.New("no classifier")
