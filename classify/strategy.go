package classify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"intenthint/payload"
)

// DefaultMaxInflight is the default of HINT_MAX_INFLIGHT.
const DefaultMaxInflight = 256

// embeddingShare is the part of the time that is left for which an embedding is
// waited for: what comes after it, a model under cascade, needs time too, and a
// local answer that could have been given at once should not come at the last
// moment.
const embeddingShare = 0.5

// Options of a [Classifier].
type Options struct {
	// LocalAccept is the least confidence, 0–1, with which cascade gives a
	// local answer without asking the model.
	LocalAccept float64
	// MaxInflight is how many classifications may ask the model at once, and
	// how many the embedding model; [DefaultMaxInflight] when it is not
	// positive.
	MaxInflight int
	// Embedding answers in the place of the local classifier when it can, with
	// the errors of a [Model]; nil for none.
	Embedding Model
	// Observer may be nil.
	Observer Observer
}

// Observer is told why a local answer was given where a model is configured;
// it is called from many goroutines.
type Observer interface {
	// AnsweredLocally has the model's error ([ErrFailed], [ErrDeadline] or
	// [ErrOverloaded], with details), or nil when cascade accepted the local
	// answer.
	AnsweredLocally(cause error)
}

// Classifier classifies messages in one of the modes. It is immutable but for
// the count of what is under way: a new configuration is a new classifier.
type Classifier struct {
	mode      Mode
	local     Local
	model     bounded
	embedding bounded
	opts      Options
}

// New returns a classifier. Local mode needs no model, llm mode no local
// classifier.
func New(mode Mode, local Local, model Model, opts Options) *Classifier {
	if opts.MaxInflight <= 0 {
		opts.MaxInflight = DefaultMaxInflight
	}
	return &Classifier{
		mode: mode, local: local, opts: opts,
		model: newBounded(model, opts.MaxInflight), embedding: newBounded(opts.Embedding, opts.MaxInflight),
	}
}

// Mode returns the mode of the classifier.
func (c *Classifier) Mode() Mode { return c.mode }

// Classify classifies one message. It returns at the latest when ctx is done,
// whatever the model does, and never waits for its turn. Only llm mode has
// errors: [ErrFailed], [ErrDeadline], [ErrOverloaded]. The time the result took
// is for the caller to fill in.
func (c *Classifier) Classify(ctx context.Context, in Input) (payload.Classification, error) {
	switch c.mode {
	case ModeLocal:
		embedding := c.embed(ctx, in)
		return c.near(embedding, c.locally(in)), nil
	case ModeLLM:
		return c.model.ask(ctx, in).await()
	case ModeCascade:
		// The embedding model is asked only when the local answer is not good
		// enough, and the model only when neither is.
		near := c.locally(in)
		if near.Confidence < c.opts.LocalAccept {
			near = c.near(c.embed(ctx, in), near)
		}
		if near.Confidence >= c.opts.LocalAccept {
			c.observe(nil)
			return near, nil
		}
		return c.hedge(c.model.ask(ctx, in), nil, near), nil
	default:
		// What may have to stand in for the model is made while it works, so
		// that it is there when the time is over.
		model, embedding := c.model.ask(ctx, in), c.embed(ctx, in)
		return c.hedge(model, embedding, c.locally(in)), nil
	}
}

// hedge gives the model's answer, else the nearest to it.
func (c *Classifier) hedge(model, embedding *pending, local payload.Classification) payload.Classification {
	result, err := model.await()
	if err != nil {
		c.observe(err)
		return c.near(embedding, local)
	}
	if embedding != nil {
		embedding.cancel()
	}
	return result
}

// near gives the answer of the embedding tier, nil for none, else the local
// one.
func (c *Classifier) near(embedding *pending, local payload.Classification) payload.Classification {
	if embedding == nil {
		return local
	}
	result, err := embedding.await()
	if err != nil {
		c.observe(fmt.Errorf("embedding: %w", err))
		return local
	}
	return result
}

// embed sets the embedding tier to work, for its share of the time; nil when
// there is none.
func (c *Classifier) embed(ctx context.Context, in Input) *pending {
	if c.embedding.model == nil {
		return nil
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return c.embedding.ask(ctx, in)
	}
	patience, stop := context.WithTimeout(ctx, time.Duration(embeddingShare*float64(time.Until(deadline))))
	p := c.embedding.ask(patience, in)
	cancel := p.cancel
	p.cancel = func() { cancel(); stop() }
	return p
}

func (c *Classifier) locally(in Input) payload.Classification {
	result := c.local.Classify(in)
	result.Source, result.Model = payload.SourceLocal, ""
	return result
}

func (c *Classifier) observe(cause error) {
	if c.opts.Observer != nil {
		c.opts.Observer.AnsweredLocally(cause)
	}
}

// bounded is a model that works on so many messages at once.
type bounded struct {
	model Model
	slots chan struct{}
}

func newBounded(model Model, most int) bounded {
	if model == nil {
		return bounded{}
	}
	return bounded{model: model, slots: make(chan struct{}, most)}
}

// pending is a model at work.
type pending struct {
	patience context.Context //nolint:containedctx // Of whoever waits for this one answer.
	answer   chan answer
	cancel   context.CancelFunc
	err      error // why the model was not asked
}

type answer struct {
	result payload.Classification
	err    error
}

// unasked is a model that does not work.
func unasked(err error) *pending { return &pending{err: err, cancel: func() {}} }

// ask sets the model to work, when there is time and room for it. The place it
// takes is free again when the model has returned, not when its caller has
// lost patience: a model that ignores its context must not pile up.
func (b *bounded) ask(ctx context.Context, in Input) *pending {
	if err := ctx.Err(); err != nil {
		return unasked(fmt.Errorf("%w: %w", ErrDeadline, err))
	}
	select {
	case b.slots <- struct{}{}:
	default:
		return unasked(ErrOverloaded)
	}
	own, cancel := context.WithCancel(ctx)
	p := &pending{patience: ctx, answer: make(chan answer, 1), cancel: cancel}
	go func() {
		result, err := guarded(func() (payload.Classification, error) { return b.model.Classify(own, in) })
		// The place first: whoever has the answer may ask again at once.
		<-b.slots
		p.answer <- answer{result, err}
	}()
	return p
}

// await returns what the model says, or [ErrDeadline] as soon as patience is
// over.
func (p *pending) await() (payload.Classification, error) {
	defer p.cancel()
	if p.err != nil {
		return payload.Classification{}, p.err
	}
	var a answer
	select {
	case a = <-p.answer:
	case <-p.patience.Done():
		// Both may be ready; an answer that is there is given.
		select {
		case a = <-p.answer:
		default:
			return payload.Classification{}, fmt.Errorf("%w: %w", ErrDeadline, p.patience.Err())
		}
	}
	if a.err != nil && !errors.Is(a.err, ErrFailed) && !errors.Is(a.err, ErrDeadline) {
		a.err = fmt.Errorf("%w: %w", ErrFailed, a.err)
	}
	return a.result, a.err
}

// Immediate says whether Classify asks nobody else and waits for nothing.
func (c *Classifier) Immediate() bool { return c.mode == ModeLocal && c.embedding.model == nil }

// AsksModel says whether Classify would ask the model about a message, unless
// an embedding makes that needless.
func (c *Classifier) AsksModel(in Input) bool {
	switch c.mode {
	case ModeLocal:
		return false
	case ModeCascade:
		return c.locally(in).Confidence < c.opts.LocalAccept
	default:
		return true
	}
}
