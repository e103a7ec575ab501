package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"intenthint/internal/panics"
	"intenthint/model/provider"
)

// Outcome is how one call of a model ended.
type Outcome string

// Outcomes.
const (
	OutcomeOK         Outcome = "ok"         // the answer was used
	OutcomeUnresolved Outcome = "unresolved" // there is no such provider, or it has no key
	OutcomeFailed     Outcome = "failed"     // the provider failed
	OutcomeLate       Outcome = "late"       // the time ran out, or a model that was asked later was faster
	OutcomeUnparsable Outcome = "unparsable" // the answer is not of the form that was asked for
	OutcomeOpen       Outcome = "open"       // not asked: its circuit breaker is open
	OutcomeCanceled   Outcome = "canceled"   // no longer needed: another model has answered, or the callers have gone
	OutcomeShared     Outcome = "shared"     // the same question was under way; reported for the chain's first model
)

var outcomes = []Outcome{
	OutcomeOK, OutcomeUnresolved, OutcomeFailed, OutcomeLate, OutcomeUnparsable,
	OutcomeOpen, OutcomeCanceled, OutcomeShared,
}

// Sent reports whether a call with this outcome reached out to the provider.
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

// Options are what a [Chain] or an [Embedder] works with besides its models.
type Options struct {
	Observer    Observer      // may be nil
	Breakers    *Breakers     // may be those of an earlier chain; nil to ask models that fail all the same
	CallTimeout time.Duration // bounds one call of a language model, besides the caller's context; 0 for no bound
}

func (o Options) observe(call Call) {
	if o.Observer != nil {
		o.Observer.ModelCalled(call)
	}
}

// admit asks a model's breaker whether it may be asked now. Without an error,
// done has to be called with how the call ended.
func (o Options) admit(ref string) (done func(error), err error) {
	done, err = o.Breakers.admit(ref)
	if err != nil {
		o.observe(Call{Ref: ref, Outcome: OutcomeOpen, Err: err})
	}
	return done, err
}

// call makes one call of an admitted model. The deadline is that of the
// question, zero for none. A panic in one of the libraries that read what
// providers send costs one answer, not the process.
func call[V any](ctx context.Context, o Options, ref string, deadline time.Time, done func(error), f func() (V, provider.Usage, error)) (Answer[V], error) {
	c, value, start := Call{Ref: ref}, *new(V), time.Now()
	use := useOf(ctx)
	use.begin()
	err := panics.Catch(func() (err error) {
		value, c.Usage, err = f()
		return err
	})
	c.Outcome, c.Err = judge(ctx, deadline, err)
	c.Duration = time.Since(start)
	done(c.blame())
	use.end(c)
	o.observe(c)
	if c.Err != nil {
		return Answer[V]{}, c.Err
	}
	return Answer[V]{Value: value, Ref: ref, Usage: c.Usage}, nil
}

// Observe makes one call that passes by chain and breaker: one of a long job that
// has its own patience.
func Observe[V any](ctx context.Context, o Observer, ref string, f func() (V, provider.Usage, error)) (V, error) {
	deadline, _ := ctx.Deadline()
	answer, err := call(ctx, Options{Observer: o}, ref, deadline, func(error) {}, f)
	return answer.Value, err
}

// judge decides what the end of a call means, by what ended it.
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
		// A caller that gives up at the deadline may be faster than the clock of
		// the context.
		return OutcomeLate, context.DeadlineExceeded
	default:
		return OutcomeCanceled, cause
	}
}

// fairTime is the least time after which a late model is to blame, and not the
// caller who was in a hurry.
const fairTime = 250 * time.Millisecond

// blame is what a call tells the breaker about its model: nil when the model is
// there, whatever it answers.
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
