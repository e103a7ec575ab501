package classify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"intenthint/model/provider"
	"intenthint/payload"
)

// primaryShare is the part of the remaining budget after which the next
// configured model is asked beside one that has not answered: what is merely
// slow must leave the next a chance. The run's own model is never asked beside
// another: it is the last resort, and mostly the big and slow one.
const primaryShare = 0.6

// lateMargin is how close to the deadline a time-out counts as the deadline's:
// timers of the network may fire a moment before the context's.
const lateMargin = 5 * time.Millisecond

// maxAnswerTokens bounds a model's answer.
const maxAnswerTokens = 400

// answerSchema is the shape of an answer for providers that enforce one. Such
// modes want every field required; a blank suggestion is none.
var answerSchema = json.RawMessage(`{
	"type": "object",
	"additionalProperties": false,
	"required": ["intent", "reason", "goal", "confidence", "complexity", "suggestion"],
	"properties": {
		"intent": {"type": "string"},
		"reason": {"type": "string"},
		"goal": {"type": "string"},
		"confidence": {"type": "number"},
		"complexity": {"type": "string", "enum": ["low", "medium", "high"]},
		"suggestion": {"type": "string"}
	}
}`)

// Resolver finds a model by its reference, provider/model.
type Resolver interface {
	Resolve(ref string) (provider.Completer, error)
}

// Outcome says how one call of a model ended.
type Outcome string

// Outcomes.
const (
	// OutcomeOK: the answer was used.
	OutcomeOK Outcome = "ok"
	// OutcomeUnresolved: there is no such provider, or it has no key.
	OutcomeUnresolved Outcome = "unresolved"
	// OutcomeFailed: the provider failed.
	OutcomeFailed Outcome = "failed"
	// OutcomeLate: the time ran out, or a model that was asked after this one
	// had used up its share of it was faster.
	OutcomeLate Outcome = "late"
	// OutcomeUnparsable: the answer is not the JSON object that was asked for.
	OutcomeUnparsable Outcome = "unparsable"
	// OutcomeOpen: the model was not asked, because it is left alone for a
	// while; see [Breakers].
	OutcomeOpen Outcome = "open"
	// OutcomeCanceled: the answer was not wanted any more: the model before
	// this one has answered after all, or the callers have gone.
	OutcomeCanceled Outcome = "canceled"
	// OutcomeShared: the same question was being asked already, and that
	// answer is used; told of the first model of the chain.
	OutcomeShared Outcome = "shared"
)

// Outcomes returns all there are.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeOK, OutcomeUnresolved, OutcomeFailed, OutcomeLate, OutcomeUnparsable,
		OutcomeOpen, OutcomeCanceled, OutcomeShared,
	}
}

// Call is one attempt at a model.
type Call struct {
	// Ref is provider/model.
	Ref      string
	Outcome  Outcome
	Duration time.Duration
	Usage    provider.Usage
	// Err is nil for [OutcomeOK]; it never holds a key.
	Err error
}

// CallObserver sees every attempt; it is called from many goroutines.
type CallObserver interface {
	ModelCalled(call Call)
}

// Chain asks models until one gives a usable answer: the next when one fails,
// or beside one that has used up its share of the time; the first usable answer
// wins. Those that ask the same at the same time share one answer. It implements
// [Model] and is immutable but for the questions in flight.
type Chain struct {
	resolver   Resolver
	opts       ChainOptions
	candidates []candidate
	questions  questions[question, payload.Classification]
}

// ChainOptions are what a chain, or an embedding tier, works with besides its
// models; all may be nil.
type ChainOptions struct {
	Observer CallObserver
	// Breakers may be those of an earlier chain.
	Breakers *Breakers
}

func (o ChainOptions) tell(call Call) {
	if o.Observer != nil {
		o.Observer.ModelCalled(call)
	}
}

type candidate struct {
	ref   string
	model provider.Completer
	err   error
}

// NewChain returns the chain of the given references, first choice first
// (HINT_MODEL, HINT_MODEL_FALLBACK); blank ones and repetitions are left out.
// After them comes the run's own model.
func NewChain(resolver Resolver, opts ChainOptions, refs ...string) *Chain {
	c := &Chain{resolver: resolver, opts: opts}
	for _, ref := range refs {
		ref = strings.TrimSpace(ref)
		if ref == "" || c.has(ref) {
			continue
		}
		c.candidates = append(c.candidates, c.resolve(ref))
	}
	return c
}

func (c *Chain) has(ref string) bool {
	for i := range c.candidates {
		if c.candidates[i].ref == ref {
			return true
		}
	}
	return false
}

func (c *Chain) resolve(ref string) candidate {
	m, err := c.resolver.Resolve(ref)
	return candidate{ref: ref, model: m, err: err}
}

// Classify implements [Model]: source and model of the result are set. Its
// errors are [ErrDeadline] when the context's time ran out and [ErrFailed]
// otherwise; both wrap what each model did.
func (c *Chain) Classify(ctx context.Context, in Input) (payload.Classification, error) {
	if err := ctx.Err(); err != nil {
		return payload.Classification{}, failure(ctx, err)
	}
	run := strings.TrimSpace(in.RunModel)
	if c.has(run) {
		run = ""
	}
	q := question{run: run, prompt: BuildPrompt(in)}
	result, shared, err := c.questions.ask(ctx, q, func(ctx context.Context, deadline time.Time) (payload.Classification, error) {
		return c.race(ctx, deadline, q, in)
	})
	if shared {
		c.opts.tell(Call{Ref: c.first(run), Outcome: OutcomeShared})
	}
	if err != nil {
		return payload.Classification{}, failure(ctx, err)
	}
	return result, nil
}

func (c *Chain) first(run string) string {
	if len(c.candidates) > 0 {
		return c.candidates[0].ref
	}
	return run
}

// failure is the error of all attempts as [Model] has it: what a caller is told
// whose context is ctx.
func failure(ctx context.Context, err error) error {
	if late(ctx, err) {
		return fmt.Errorf("%w: %w", ErrDeadline, err)
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}

// late says whether the time of a caller is over, or would be if a model that is
// known to be late had been asked, given the error of all attempts.
func late(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, errLate) {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && isTimeout(err) && time.Until(deadline) <= lateMargin
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
