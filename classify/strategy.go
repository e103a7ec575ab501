package classify

import (
	"context"
	"errors"
	"fmt"

	"intenthint/payload"
)

// DefaultMaxInflight is the default of HINT_MAX_INFLIGHT.
const DefaultMaxInflight = 256

// Options of a [Classifier].
type Options struct {
	// LocalAccept is the least confidence, 0–1, with which cascade gives a
	// local answer without asking the model.
	LocalAccept float64
	// MaxInflight is how many classifications may ask the model at once;
	// [DefaultMaxInflight] when it is not positive.
	MaxInflight int
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
	mode  Mode
	local Local
	model Model
	opts  Options
	slots chan struct{}
}

// New returns a classifier. Local mode needs no model, llm mode no local
// classifier.
func New(mode Mode, local Local, model Model, opts Options) *Classifier {
	if opts.MaxInflight <= 0 {
		opts.MaxInflight = DefaultMaxInflight
	}
	return &Classifier{mode: mode, local: local, model: model, opts: opts, slots: make(chan struct{}, opts.MaxInflight)}
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
		return c.locally(in), nil
	case ModeLLM:
		return c.await(ctx, c.ask(ctx, in))
	case ModeCascade:
		// The model is asked only when the local answer is not good enough.
		local := c.locally(in)
		if local.Confidence >= c.opts.LocalAccept {
			c.observe(nil)
			return local, nil
		}
		return c.hedge(ctx, c.ask(ctx, in), func() payload.Classification { return local })
	default:
		return c.hedge(ctx, c.ask(ctx, in), func() payload.Classification { return c.locally(in) })
	}
}

// hedge gives the model's answer, else the local one. The local one is made
// while the model works, so that it is there when the time is over.
func (c *Classifier) hedge(ctx context.Context, p *pending, local func() payload.Classification) (payload.Classification, error) {
	fallback := local()
	result, err := c.await(ctx, p)
	if err != nil {
		c.observe(err)
		return fallback, nil
	}
	return result, nil
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

// pending is a model at work.
type pending struct {
	answer chan answer
	cancel context.CancelFunc
	err    error // why the model was not asked
}

type answer struct {
	result payload.Classification
	err    error
}

// ask sets the model to work, when there is time and room for it. The place it
// takes is free again when the model has returned, not when its caller has
// lost patience: a model that ignores its context must not pile up.
func (c *Classifier) ask(ctx context.Context, in Input) *pending {
	if err := ctx.Err(); err != nil {
		return &pending{err: fmt.Errorf("%w: %w", ErrDeadline, err)}
	}
	select {
	case c.slots <- struct{}{}:
	default:
		return &pending{err: ErrOverloaded}
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &pending{answer: make(chan answer, 1), cancel: cancel}
	go func() {
		result, err := c.guarded(ctx, in)
		// The place first: whoever has the answer may ask again at once.
		<-c.slots
		p.answer <- answer{result, err}
	}()
	return p
}

// guarded calls the model. A panic in one of the libraries that read what
// providers send costs one answer, not the process.
func (c *Classifier) guarded(ctx context.Context, in Input) (result payload.Classification, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = payload.Classification{}, fmt.Errorf("%w: panic: %v", ErrFailed, r)
		}
	}()
	return c.model.Classify(ctx, in)
}

// await returns what the model says, or [ErrDeadline] as soon as ctx is done.
func (c *Classifier) await(ctx context.Context, p *pending) (payload.Classification, error) {
	if p.err != nil {
		return payload.Classification{}, p.err
	}
	defer p.cancel()
	var a answer
	select {
	case a = <-p.answer:
	case <-ctx.Done():
		// Both may be ready; an answer that is there is given.
		select {
		case a = <-p.answer:
		default:
			return payload.Classification{}, fmt.Errorf("%w: %w", ErrDeadline, ctx.Err())
		}
	}
	if a.err != nil && !errors.Is(a.err, ErrFailed) && !errors.Is(a.err, ErrDeadline) {
		a.err = fmt.Errorf("%w: %w", ErrFailed, a.err)
	}
	return a.result, a.err
}

// AsksModel says whether Classify would ask the model about a message.
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
