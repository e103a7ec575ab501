package classify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"intenthint/classify/provider"
	"intenthint/payload"
)

// primaryShare is the part of the remaining budget that a configured model may
// use while another configured one stands behind it: one that is merely slow
// must leave the next a chance. The run's own model takes no share away from
// those before it: it is the last resort, and mostly the big and slow one.
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
	// OutcomeLate: the time for this model ran out.
	OutcomeLate Outcome = "late"
	// OutcomeUnparsable: the answer is not the JSON object that was asked for.
	OutcomeUnparsable Outcome = "unparsable"
)

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

// Chain asks models one after the other until one gives a usable answer. It is
// immutable and implements [Model].
type Chain struct {
	resolver   Resolver
	observer   CallObserver
	candidates []candidate
}

type candidate struct {
	ref   string
	model provider.Completer
	err   error
}

// NewChain returns the chain of the given references, first choice first
// (HINT_MODEL, HINT_MODEL_FALLBACK); blank ones and repetitions are left out.
// After them comes the run's own model. The observer may be nil.
func NewChain(resolver Resolver, observer CallObserver, refs ...string) *Chain {
	c := &Chain{resolver: resolver, observer: observer}
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
	prompt := BuildPrompt(in)
	req := provider.Request{
		System: prompt.System, User: prompt.User,
		MaxTokens: maxAnswerTokens, Schema: answerSchema, SchemaName: "intent",
	}
	var errs []error
	for i, cand := range c.candidates {
		result, err := c.try(ctx, cand, c.another(i), req, in)
		if err == nil {
			return result, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", cand.ref, err))
		if late(ctx, err) {
			return payload.Classification{}, failure(ErrDeadline, errs)
		}
	}
	if run := strings.TrimSpace(in.RunModel); run != "" && !c.has(run) {
		result, err := c.try(ctx, c.resolve(run), false, req, in)
		if err == nil {
			return result, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", run, err))
		if late(ctx, err) {
			return payload.Classification{}, failure(ErrDeadline, errs)
		}
	}
	return payload.Classification{}, failure(ErrFailed, errs)
}

func failure(kind error, errs []error) error {
	if len(errs) == 0 {
		return fmt.Errorf("%w: none is configured", kind)
	}
	return fmt.Errorf("%w: %w", kind, errors.Join(errs...))
}

// another says whether a configured model that can be asked stands behind the
// i-th.
func (c *Chain) another(i int) bool {
	for _, cand := range c.candidates[i+1:] {
		if cand.err == nil {
			return true
		}
	}
	return false
}

// try asks one model; shared says that it may not use all the time there is.
func (c *Chain) try(ctx context.Context, cand candidate, shared bool, req provider.Request, in Input) (payload.Classification, error) {
	if err := ctx.Err(); err != nil {
		return payload.Classification{}, err
	}
	call := Call{Ref: cand.ref}
	start := time.Now()
	result, err := c.ask(ctx, cand, shared, req, in, &call)
	call.Duration, call.Err = time.Since(start), err
	if c.observer != nil {
		c.observer.ModelCalled(call)
	}
	return result, err
}

func (c *Chain) ask(ctx context.Context, cand candidate, shared bool, req provider.Request, in Input, call *Call) (payload.Classification, error) {
	if cand.err != nil {
		call.Outcome = OutcomeUnresolved
		return payload.Classification{}, cand.err
	}
	if deadline, ok := ctx.Deadline(); ok && shared {
		share := time.Duration(primaryShare * float64(time.Until(deadline)))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, share)
		defer cancel()
	}
	completion, err := cand.model.Complete(ctx, req)
	call.Usage = completion.Usage
	if err != nil {
		call.Outcome = OutcomeFailed
		if isTimeout(err) {
			call.Outcome = OutcomeLate
		}
		return payload.Classification{}, err
	}
	result, err := ParseAnswer(completion.Text, in.Catalog)
	if err != nil {
		call.Outcome = OutcomeUnparsable
		return payload.Classification{}, err
	}
	call.Outcome = OutcomeOK
	result.Source, result.Model = payload.SourceLLM, cand.ref
	return result, nil
}

// late says whether the time of the whole classification is over, given the
// error of the last attempt.
func late(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
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
