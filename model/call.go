package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"intenthint/internal/panics"
	"intenthint/internal/tracing"
	"intenthint/model/provider"
)

// Outcome is how one call of a model ended.
type Outcome string

// Outcomes.
const (
	OutcomeOK         Outcome = "ok"         // the answer was used
	OutcomeUnresolved Outcome = "unresolved" // there is no such provider, or it has no key
	OutcomeFailed     Outcome = "failed"     // the provider failed
	OutcomeLate       Outcome = "late"       // the time ran out, or a model asked later was faster
	OutcomeUnparsable Outcome = "unparsable" // the answer does not have the requested form
	OutcomeOpen       Outcome = "open"       // not asked: its circuit breaker is open
	OutcomeCanceled   Outcome = "canceled"   // no longer needed: another model has answered, or no caller waits any more
	OutcomeShared     Outcome = "shared"     // the same question was in progress; reported for the chain's first model
)

var outcomes = []Outcome{
	OutcomeOK, OutcomeUnresolved, OutcomeFailed, OutcomeLate, OutcomeUnparsable,
	OutcomeOpen, OutcomeCanceled, OutcomeShared,
}

// Sent reports whether a call with this outcome was sent to the provider.
func (o Outcome) Sent() bool {
	return o != OutcomeUnresolved && o != OutcomeOpen && o != OutcomeShared
}

// Call is one attempt at a model.
type Call struct {
	Ref      string // provider/model
	Outcome  Outcome
	Duration time.Duration
	Usage    provider.Usage
	Err      error // nil for [OutcomeOK]; it never holds a key
}

// Observer sees every attempt; it is called from many goroutines.
type Observer interface {
	ModelCalled(call Call)
}

// Options configure a [Chain] or an [Embedder].
type Options struct {
	Observer    Observer      // may be nil
	Breakers    *Breakers     // may be shared with an earlier chain; nil to keep asking failing models
	CallTimeout time.Duration // bounds one call of a language model, besides the caller's context; 0 for no bound
}

func (o Options) observe(call Call) {
	if o.Observer != nil {
		o.Observer.ModelCalled(call)
	}
}

// admit asks a model's breaker whether it may be asked now. Without an error,
// done must be called with the result of the call.
func (o Options) admit(ref string) (done func(error), err error) {
	done, err = o.Breakers.admit(ref)
	if err != nil {
		o.observe(Call{Ref: ref, Outcome: OutcomeOpen, Err: err})
	}
	return done, err
}

// call makes one call of an admitted model. The deadline is that of the
// question, zero for none. A panic in a library that parses provider responses
// costs one answer, not the process.
func call[V any](ctx context.Context, o Options, ref string, deadline time.Time, done func(error), f func() (V, provider.Usage, error)) (Answer[V], error) {
	c, value, start := Call{Ref: ref}, *new(V), time.Now()
	use := useOf(ctx)
	use.begin()
	span := tracing.Call(ctx, "model", tracing.String("gen_ai.request.model", ref))
	err := panics.Catch(func() (err error) {
		value, c.Usage, err = f()
		return err
	})
	c.Outcome, c.Err = judge(ctx, deadline, err)
	c.Duration = time.Since(start)
	traced(span, c)
	done(c.blame())
	use.end(c)
	o.observe(c)
	if c.Err != nil {
		return Answer[V]{}, c.Err
	}
	return Answer[V]{Value: value, Ref: ref, Usage: c.Usage}, nil
}

// traced ends the span of a call, with the names of the semantic conventions for
// generative AI.
func traced(span trace.Span, c Call) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", c.Usage.InputTokens), attribute.Int("gen_ai.usage.output_tokens", c.Usage.OutputTokens))
	failure := ""
	if c.Outcome != OutcomeOK {
		failure = string(c.Outcome)
	}
	tracing.End(span, failure)
}

// Observe makes one call without chain and breaker, for long jobs with their
// own retries.
func Observe[V any](ctx context.Context, o Observer, ref string, f func() (V, provider.Usage, error)) (V, error) {
	deadline, _ := ctx.Deadline()
	answer, err := call(ctx, Options{Observer: o}, ref, deadline, func(error) {}, f)
	return answer.Value, err
}

// judge returns the outcome of a call that ended with err.
func judge(ctx context.Context, deadline time.Time, err error) (Outcome, error) {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return OutcomeOK, nil
	case errors.Is(err, ErrUnparsable):
		return OutcomeUnparsable, err
	case !isTimeout(err):
		return OutcomeFailed, err
	case cause == nil && errors.Is(err, context.Canceled):
		return OutcomeCanceled, err
	case cause == nil:
		return OutcomeLate, err
	case errors.Is(cause, context.DeadlineExceeded):
		return OutcomeLate, cause
	case !deadline.IsZero() && time.Until(deadline) <= lateMargin:
		// A caller that gives up at the deadline may be faster than the context's
		// timer.
		return OutcomeLate, context.DeadlineExceeded
	default:
		return OutcomeCanceled, cause
	}
}

// fairTime is the least time a model must have had to be blamed for being late;
// with less, the caller's deadline was too short.
const fairTime = 250 * time.Millisecond

// blame returns the result of a call for the model's breaker: nil if the model
// is available, whatever it answered.
func (c Call) blame() error {
	switch {
	case c.Outcome == OutcomeUnparsable:
		return nil
	case c.Outcome == OutcomeCanceled, c.Outcome == OutcomeLate && c.Duration < fairTime:
		return errUnwanted
	case c.Outcome == OutcomeLate:
		return fmt.Errorf("%w: %w", errLate, c.Err)
	default:
		return c.Err
	}
}
