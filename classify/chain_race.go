package classify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"intenthint/model/provider"
	"intenthint/payload"
)

// race is one question on its way through the models of a chain. Only one
// goroutine touches it; the models work in others and report over a channel.
type race struct {
	chain    *Chain
	deadline time.Time // of the question; zero for none
	request  provider.Request
	in       Input

	run      string // the run's model, "" when it is not to be asked any more
	next     int    // the configured model that is asked next
	begun    int    // attempts
	running  map[int]context.CancelCauseFunc
	finished chan attempt
	errs     []error
}

// attempt is how one model's part ended; its number grows with the time at
// which it began.
type attempt struct {
	number int
	ref    string
	result payload.Classification
	err    error
}

// errOvertaken: a model that was asked later has answered first.
var errOvertaken = fmt.Errorf("a model that was asked later was faster: %w", context.DeadlineExceeded)

// race asks the models. It returns the first usable answer, and an error only
// when no model is at work any more.
func (c *Chain) race(ctx context.Context, deadline time.Time, q question, in Input) (payload.Classification, error) {
	r := &race{
		chain: c, deadline: deadline, in: in, run: q.run,
		request: provider.Request{
			System: q.prompt.System, User: q.prompt.User,
			MaxTokens: maxAnswerTokens, Schema: answerSchema, SchemaName: "intent",
		},
		running: make(map[int]context.CancelCauseFunc),
		// Room for all: nobody listens to those who lose.
		finished: make(chan attempt, len(c.candidates)+1),
	}
	r.start(ctx)
	for len(r.running) > 0 {
		overdue, stop := r.share()
		select {
		case a := <-r.finished:
			delete(r.running, a.number)
			if a.err == nil {
				r.stop(a.number)
				stop()
				return a.result, nil
			}
			r.errs = append(r.errs, fmt.Errorf("%s: %w", a.ref, a.err))
			r.start(ctx)
		case <-overdue:
			r.start(ctx)
		}
		stop()
	}
	if len(r.errs) == 0 {
		return payload.Classification{}, errors.New("none is configured")
	}
	return payload.Classification{}, errors.Join(r.errs...)
}

// start asks the next model that can be asked; the run's own one only when no
// other is at work.
func (r *race) start(ctx context.Context) {
	for ctx.Err() == nil {
		var cand candidate
		switch {
		case r.next < len(r.chain.candidates):
			cand = r.chain.candidates[r.next]
			r.next++
		case r.run != "" && len(r.running) == 0:
			cand, r.run = r.chain.resolve(r.run), ""
		default:
			return
		}
		if r.ask(ctx, cand) {
			return
		}
	}
}

// share is when the next model is asked beside those at work: never when there
// is none that could be.
func (r *race) share() (overdue <-chan time.Time, stop func()) {
	left := time.Until(r.deadline)
	if r.deadline.IsZero() || left <= 0 || !r.another() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Duration(primaryShare * float64(left)))
	return t.C, func() { t.Stop() }
}

// another says whether a configured model that can be asked is left.
func (r *race) another() bool {
	for _, cand := range r.chain.candidates[r.next:] {
		if cand.err == nil {
			return true
		}
	}
	return false
}

// ask sets one model to work, and says whether it could.
func (r *race) ask(ctx context.Context, cand candidate) bool {
	report, err := r.chain.opts.Breakers.admit(cand.ref, cand.err == nil)
	if err != nil {
		r.refuse(Call{Ref: cand.ref, Outcome: OutcomeOpen, Err: err})
		return false
	}
	if cand.err != nil {
		report(cand.err)
		r.refuse(Call{Ref: cand.ref, Outcome: OutcomeUnresolved, Err: cand.err})
		return false
	}
	r.begun++
	number := r.begun
	own, cancel := context.WithCancelCause(ctx)
	r.running[number] = cancel
	go func() {
		defer cancel(nil)
		call := Call{Ref: cand.ref, Outcome: OutcomeFailed}
		start := time.Now()
		result, err := guarded(func() (payload.Classification, error) { return r.complete(own, cand, &call) })
		call.Duration, call.Err = time.Since(start), err
		report(blame(call))
		r.chain.opts.tell(call)
		r.finished <- attempt{number: number, ref: cand.ref, result: result, err: err}
	}()
	return true
}

func (r *race) refuse(call Call) {
	r.chain.opts.tell(call)
	r.errs = append(r.errs, fmt.Errorf("%s: %w", call.Ref, call.Err))
}

// stop ends those at work when one has won. Who began before the winner had its
// share of the time; who began after it is only not needed.
func (r *race) stop(winner int) {
	for number, cancel := range r.running {
		if number < winner {
			cancel(errOvertaken)
		} else {
			cancel(errUnwanted)
		}
	}
}

// complete asks a model and reads its answer.
func (r *race) complete(ctx context.Context, cand candidate, call *Call) (payload.Classification, error) {
	completion, err := cand.model.Complete(ctx, r.request)
	call.Usage = completion.Usage
	if err != nil {
		call.Outcome, err = judge(ctx, r.deadline, err)
		return payload.Classification{}, err
	}
	result, err := ParseAnswer(completion.Text, r.in.Catalog)
	if err != nil {
		call.Outcome = OutcomeUnparsable
		return payload.Classification{}, err
	}
	call.Outcome = OutcomeOK
	result.Source, result.Model = payload.SourceLLM, cand.ref
	return result, nil
}

// judge says what a failed call means, by what ended it. The deadline is that
// of the question, zero for none.
func judge(ctx context.Context, deadline time.Time, err error) (Outcome, error) {
	if ctx.Err() == nil || !isTimeout(err) {
		if isTimeout(err) {
			return OutcomeLate, err
		}
		return OutcomeFailed, err
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return OutcomeLate, cause
	case !deadline.IsZero() && time.Until(deadline) <= lateMargin:
		// Who gives up at the deadline may be faster than the clock of the
		// context.
		return OutcomeLate, context.DeadlineExceeded
	default:
		return OutcomeCanceled, cause
	}
}

// blame is what a call says about its model: nil when it is there, whatever it
// answers.
func blame(call Call) error {
	switch {
	case call.Outcome == OutcomeUnparsable:
		return nil
	case call.Outcome == OutcomeCanceled,
		call.Outcome == OutcomeLate && call.Duration < fairTime:
		return errUnwanted
	case call.Outcome == OutcomeLate:
		return fmt.Errorf("%w: %w", errLate, call.Err)
	default:
		return call.Err
	}
}
