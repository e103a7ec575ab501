package classify

import (
	"context"
	"fmt"

	"intenthint/model"
	"intenthint/payload"
)

// DefaultMaxInflight is the default of HINT_MAX_INFLIGHT.
const DefaultMaxInflight = 256

// embeddingShare is the part of the time left that an embedding may take: a model
// that comes after it (cascade) needs time too, and a local answer should not come
// at the last moment.
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
	model     tier
	embedding tier
	opts      Options
}

// New returns a classifier. Local mode needs no model, llm mode no local
// classifier.
func New(mode Mode, local Local, llm Model, opts Options) *Classifier {
	if opts.MaxInflight <= 0 {
		opts.MaxInflight = DefaultMaxInflight
	}
	return &Classifier{
		mode: mode, local: local, opts: opts,
		model:     tier{llm, model.NewLimit(opts.MaxInflight)},
		embedding: tier{opts.Embedding, model.NewLimit(opts.MaxInflight)},
	}
}

// Mode returns the mode of the classifier.
func (c *Classifier) Mode() Mode { return c.mode }

// Classify classifies one message. It returns at the latest when ctx is done,
// whatever the model does, and never waits for its turn. Only llm mode has
// errors: [ErrFailed], [ErrDeadline], [ErrOverloaded]. The time the result took
// is for the caller to fill in.
func (c *Classifier) Classify(ctx context.Context, in Input) (payload.Classification, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what is at work and not needed
	switch c.mode {
	case ModeLocal:
		embedding := c.embed(ctx, in)
		return c.near(embedding, c.locally(in)), nil
	case ModeLLM:
		return c.model.ask(ctx, in, 1)()
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
		return c.hedge(c.model.ask(ctx, in, 1), nil, near), nil
	default:
		// What may have to stand in for the model is made while it works, so
		// that it is there when the time is over.
		llm, embedding := c.model.ask(ctx, in, 1), c.embed(ctx, in)
		return c.hedge(llm, embedding, c.locally(in)), nil
	}
}

// hedge gives the model's answer, else the nearest to it.
func (c *Classifier) hedge(llm, embedding pending, local payload.Classification) payload.Classification {
	result, err := llm()
	if err != nil {
		c.observe(err)
		return c.near(embedding, local)
	}
	return result
}

// near gives the answer of the embedding tier, nil for none, else the local
// one.
func (c *Classifier) near(embedding pending, local payload.Classification) payload.Classification {
	if embedding == nil {
		return local
	}
	result, err := embedding()
	if err != nil {
		c.observe(fmt.Errorf("embedding: %w", err))
		return local
	}
	return result
}

// embed sets the embedding tier to work, for its share of the time; nil when
// there is none.
func (c *Classifier) embed(ctx context.Context, in Input) pending {
	if c.embedding.model == nil {
		return nil
	}
	return c.embedding.ask(ctx, in, embeddingShare)
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

// tier is a model of which so many messages are asked at once.
type tier struct {
	model Model
	limit model.Limit
}

// pending waits for a tier at work.
type pending func() (payload.Classification, error)

// ask sets the tier to work, for a share of the time.
func (t tier) ask(ctx context.Context, in Input, share float64) pending {
	return model.Start(ctx, t.limit, share, func(ctx context.Context) (payload.Classification, error) {
		return t.model.Classify(ctx, in)
	})
}

// Immediate reports whether Classify never waits for a model.
func (c *Classifier) Immediate() bool { return c.mode == ModeLocal && c.embedding.model == nil }

// AsksModel reports whether Classify would ask the model about a message, unless
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
