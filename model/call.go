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
	// OutcomeOK: the answer was used.
	OutcomeOK Outcome = "ok"
	// OutcomeUnresolved: there is no such provider, or it has no key.
	OutcomeUnresolved Outcome = "unresolved"
	// OutcomeFailed: the provider failed.
	OutcomeFailed Outcome = "failed"
	// OutcomeLate: the time ran out, or a model that was asked after this one
	// had used up its share of it was faster.
	OutcomeLate Outcome = "late"
	// OutcomeUnparsable: the answer is not of the form that was asked for.
	OutcomeUnparsable Outcome = "unparsable"
	// OutcomeOpen: the model was not asked because its circuit breaker is open.
	OutcomeOpen Outcome = "open"
	// OutcomeCanceled: the answer was no longer needed: the model before this
	// one has answered after all, or the callers have gone.
	OutcomeCanceled Outcome = "canceled"
	// OutcomeShared: the same question was under way already and its answer was
	// used; reported for the first model of the chain.
	OutcomeShared Outcome = "shared"
)

var outcomes = []Outcome{
	OutcomeOK, OutcomeUnresolved, OutcomeFailed, OutcomeLate, OutcomeUnparsable,
	OutcomeOpen, OutcomeCanceled, OutcomeShared,
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

// Observer sees every attempt; it is called from many goroutines.
type Observer interface {
	ModelCalled(call Call)
}

// Options are what a [Chain] or an [Embedder] works with besides its models.
type Options struct {
	// Observer may be nil.
	Observer Observer
	// Breakers may be those of an earlier chain; nil to ask models that fail
	// all the same.
	Breakers *Breakers
	// CallTimeout bounds one call of a language model, besides the caller's
	// context; 0 for no bound.
	CallTimeout time.Duration
}

func (o Options) observe(call Call) {
	if o.Observer != nil {
		o.Observer.ModelCalled(call)
	}
}

// admit reports why a model is not asked now: its breaker, or the error of
// resolving it. When there is no error, done has to be called with how the call
// ended.
func (o Options) admit(ref string, unresolved error) (done func(error), err error) {
	done, err = o.Breakers.admit(ref, unresolved == nil)
	if err != nil {
		o.observe(Call{Ref: ref, Outcome: OutcomeOpen, Err: err})
		return nil, err
	}
	if unresolved != nil {
		done(unresolved)
		o.observe(Call{Ref: ref, Outcome: OutcomeUnresolved, Err: unresolved})
	}
	return done, unresolved
}

// call makes one call of an admitted model. The deadline is that of the
// question, zero for none. A panic in one of the libraries that read what
// providers send costs one answer, not the process.
func call[V any](ctx context.Context, o Options, ref string, deadline time.Time, done func(error), f func() (V, provider.Usage, error)) (Answer[V], error) {
	c, value, start := Call{Ref: ref}, *new(V), time.Now()
	err := panics.Catch(func() (err error) {
		value, c.Usage, err = f()
		return err
	})
	c.Outcome, c.Err = judge(ctx, deadline, err)
	c.Duration = time.Since(start)
	done(c.blame())
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
