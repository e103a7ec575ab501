package classify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"intenthint/model"
	"intenthint/payload"
)

// DefaultMaxInflight is the default of HINT_MAX_INFLIGHT.
const DefaultMaxInflight = 256

// embeddingShare is the share of the remaining time that an embedding may take:
// a model asked after it (cascade) needs time too, and a local answer should
// not come at the last moment.
const embeddingShare = 0.5

// Options of a [Classifier].
type Options struct {
	// LocalAccept is the least confidence, 0–1, at which cascade gives a local
	// answer without asking the model.
	LocalAccept float64
	// Limit bounds the classifications that ask the model concurrently. Successive
	// classifiers share it; nil means a limit of [DefaultMaxInflight].
	Limit *model.Limit
	// Embedding answers in place of the local classifier when it can, with the
	// errors of a [Model]; nil without an embedding model.
	Embedding Model
	// Bounds say when Embedding is asked and how long it is waited for.
	Bounds Bounds
	// Observer may be nil.
	Observer Observer
}

// Bounds limit the use of an embedding model. With the zero value every message
// is embedded, the wait is up to half of the remaining time, and the limit is
// [DefaultMaxInflight].
type Bounds struct {
	// Accept is the least confidence, above 0 and up to 1, at which a local answer
	// is given without asking the embedding model; 0 means always ask.
	Accept float64
	// Share is the share, in (0, 1], of the remaining time that the embedding may
	// take.
	Share float64
	// Wait bounds that time; 0 means no bound.
	Wait time.Duration
	// Limit bounds the messages that are embedded concurrently. Beyond it the
	// embedding model is not asked.
	Limit *model.Limit
}

// Outcomes of a message when there is an embedding model.
const (
	EmbeddingUsed   = "used"
	EmbeddingSpared = "spared" // the local answer was certain enough
	EmbeddingUnfit  = "unfit"  // not for this model, [ErrUnfit]
	// EmbeddingConversation is a message that needs the conversation, [ErrNeedsConversation].
	EmbeddingConversation = "conversation"
	EmbeddingBusy         = "busy" // more concurrent messages than Bounds.Limit
	EmbeddingLate         = "late"
	EmbeddingFailed       = "failed"
)

// EmbeddingOutcomes are all outcomes.
var EmbeddingOutcomes = []string{EmbeddingUsed, EmbeddingSpared, EmbeddingUnfit, EmbeddingConversation, EmbeddingBusy, EmbeddingLate, EmbeddingFailed}

// Observer is told how long the sources took, and why a local answer was given
// although a model is configured. It is called from many goroutines.
type Observer interface {
	// Classified reports the time that a source, one of the payload.Source
	// constants, took for its own answer, whether or not that answer is used.
	Classified(source string, took time.Duration)
	// AnsweredLocally reports the model's error ([ErrFailed], [ErrDeadline] or
	// [ErrOverloaded], with details), or nil if cascade accepted the local answer.
	AnsweredLocally(cause error)
	// Embedded reports one of [EmbeddingOutcomes] for each message whose local
	// answer was needed while there was an embedding model.
	Embedded(outcome string)
}

// Classifier classifies messages in one of the modes. Apart from its count of
// calls in progress it is immutable: a new configuration needs a new
// classifier.
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
	if opts.Limit == nil {
		opts.Limit = model.NewLimit(DefaultMaxInflight)
	}
	if opts.Observer == nil {
		opts.Observer = unobserved{}
	}
	if opts.Bounds.Share <= 0 {
		opts.Bounds.Share = embeddingShare
	}
	if opts.Bounds.Limit == nil {
		opts.Bounds.Limit = model.NewLimit(DefaultMaxInflight)
	}
	return &Classifier{
		mode: mode, local: local, opts: opts,
		model:     tier{llm, opts.Limit, payload.SourceLLM, opts.Observer},
		embedding: tier{opts.Embedding, opts.Bounds.Limit, payload.SourceEmbedding, opts.Observer},
	}
}

// Mode returns the mode of the classifier.
func (c *Classifier) Mode() Mode { return c.mode }

// Classify classifies one message. It returns when ctx is done at the latest,
// whatever the model does, and never queues. Only llm mode returns errors:
// [ErrFailed], [ErrDeadline], [ErrOverloaded]. A keyword of an intent is answered
// without a classifier or model. The caller fills in the time that the result took.
func (c *Classifier) Classify(ctx context.Context, in Input) (payload.Classification, error) {
	if intent, ok := in.keyword(); ok {
		return byKeyword(intent), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends calls whose answers are not needed
	switch c.mode {
	case ModeLocal:
		return c.near(c.closest(ctx, in)), nil
	case ModeLLM:
		return c.model.ask(ctx, in, 1)()
	case ModeCascade:
		// The embedding model is asked only when the local answer is not good
		// enough, and the model only when neither is.
		near := c.locally(in)
		if near.Confidence < c.opts.LocalAccept {
			near = c.near(c.embed(ctx, in, near.Confidence), near)
		}
		if near.Confidence >= c.opts.LocalAccept {
			c.opts.Observer.AnsweredLocally(nil)
			return near, nil
		}
		return c.hedge(c.model.ask(ctx, in, 1), nil, near), nil
	default:
		// The substitutes for the model's answer are made while it works, so that
		// they are ready at the deadline.
		llm := c.model.ask(ctx, in, 1)
		embedding, near := c.closest(ctx, in)
		return c.hedge(llm, embedding, near), nil
	}
}

// hedge returns the model's answer, or the next best if the model fails.
func (c *Classifier) hedge(llm, embedding pending, local payload.Classification) payload.Classification {
	result, err := llm()
	if err != nil {
		c.opts.Observer.AnsweredLocally(err)
		return c.near(embedding, local)
	}
	result.RunnerUp, result.RunnerUpConfidence = otherThan(result.Intent, local)
	return result
}

// otherThan returns the local classifier's likeliest intent other than the
// answer.
func otherThan(answer string, local payload.Classification) (intent string, confidence float64) {
	if local.Intent != answer {
		return local.Intent, local.Confidence
	}
	return local.RunnerUp, local.RunnerUpConfidence
}

// near returns the answer of the embedding tier, or the local one if there is no
// such tier or it fails.
func (c *Classifier) near(embedding pending, local payload.Classification) payload.Classification {
	if embedding == nil {
		return local
	}
	result, err := embedding()
	c.opts.Observer.Embedded(outcomeOf(err))
	if err != nil {
		c.opts.Observer.AnsweredLocally(fmt.Errorf("embedding: %w", err))
		return local
	}
	return result
}

// closest starts the embedding tier and makes the local answer; it does both
// concurrently unless the local answer decides whether to embed.
func (c *Classifier) closest(ctx context.Context, in Input) (pending, payload.Classification) {
	if c.opts.Bounds.Accept > 0 {
		local := c.locally(in)
		return c.embed(ctx, in, local.Confidence), local
	}
	embedding := c.embed(ctx, in, 0)
	return embedding, c.locally(in)
}

// embed starts the embedding tier, with its share of the time; nil without an
// embedding model, or if the local answer is confident enough.
func (c *Classifier) embed(ctx context.Context, in Input, confidence float64) pending {
	bounds := c.opts.Bounds
	switch {
	case c.embedding.model == nil:
		return nil
	case bounds.Accept > 0 && confidence >= bounds.Accept:
		c.opts.Observer.Embedded(EmbeddingSpared)
		return nil
	}
	share := bounds.Share
	if deadline, ok := ctx.Deadline(); ok && bounds.Wait > 0 {
		share = min(share, float64(bounds.Wait)/float64(max(time.Until(deadline), 1)))
	}
	return c.embedding.ask(ctx, in, share)
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return EmbeddingUsed
	case errors.Is(err, ErrUnfit):
		return EmbeddingUnfit
	case errors.Is(err, ErrNeedsConversation):
		return EmbeddingConversation
	case errors.Is(err, ErrOverloaded):
		return EmbeddingBusy
	case errors.Is(err, ErrDeadline):
		return EmbeddingLate
	default:
		return EmbeddingFailed
	}
}

func (c *Classifier) locally(in Input) payload.Classification {
	local := in.local
	if local == nil {
		local = c.measure(in)
	}
	c.opts.Observer.Classified(payload.SourceLocal, local.took)
	result := local.answer
	result.Source, result.Model = payload.SourceLocal, ""
	return result
}

func (c *Classifier) measure(in Input) *measured {
	began := time.Now()
	answer := c.local.Classify(in)
	return &measured{answer, time.Since(began)}
}

// unobserved is the Observer of a classifier without one.
type unobserved struct{}

func (unobserved) Classified(string, time.Duration) {}
func (unobserved) AnsweredLocally(error)            {}
func (unobserved) Embedded(string)                  {}

// tier is a model with a limit of concurrent calls.
type tier struct {
	model    Model
	limit    *model.Limit
	source   string
	observer Observer
}

// pending waits for a tier's answer.
type pending func() (payload.Classification, error)

// ask starts the tier, with a share of the remaining time.
func (t tier) ask(ctx context.Context, in Input, share float64) pending {
	return model.Start(ctx, t.limit, share, func(ctx context.Context) (payload.Classification, error) {
		began := time.Now()
		result, err := t.model.Classify(ctx, in)
		if err == nil {
			t.observer.Classified(t.source, time.Since(began))
		}
		return result, err
	})
}

// AsksModel reports whether Classify would ask the model about a message, unless
// an embedding makes that unnecessary. If it needs the local answer, it keeps
// it in in for Classify; in must not be changed in between.
func (c *Classifier) AsksModel(in *Input) bool {
	if _, ok := in.keyword(); ok {
		return false
	}
	switch c.mode {
	case ModeLocal:
		return false
	case ModeCascade:
		in.local = c.measure(*in) // not an answer yet, so not observed
		return in.local.answer.Confidence < c.opts.LocalAccept
	default:
		return true
	}
}
