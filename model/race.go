package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"intenthint/model/provider"
)

// primaryShare is the share of the remaining time after which the next
// configured model is asked in addition to one that has not answered (contract
// §6): a slow model must leave the next one a chance. The run's own model is
// never asked in addition to another: it is the last resort, and mostly large
// and slow.
const primaryShare = 0.6

// race is one question on its way through the models of a chain. Only one
// goroutine touches it; the models work in others and report over a channel.
type race[T any] struct {
	chain    *Chain
	question Question[T]
	deadline time.Time // of the question; zero for none

	run      string // the run's model, "" if it is not to be asked any more
	next     int    // the configured model that is asked next
	begun    int    // attempts
	running  map[int]context.CancelCauseFunc
	finished chan attempt[T]
	errs     []error
}

// attempt is the result of asking one model; attempts are numbered in the order
// in which they began.
type attempt[T any] struct {
	number int
	answer Answer[T]
	err    error
}

// runRace asks the models. It returns the first usable answer, or an error once
// no model is in progress.
func runRace[T any](ctx context.Context, c *Chain, q Question[T], deadline time.Time) (Answer[T], error) {
	r := &race[T]{
		chain: c, question: q, deadline: deadline, run: q.RunModel,
		running: make(map[int]context.CancelCauseFunc),
		// Buffered for all: the results of the losers are not read.
		finished: make(chan attempt[T], len(c.candidates)+1),
	}
	r.start(ctx)
	for len(r.running) > 0 {
		overdue, stop := r.overdue()
		select {
		case a := <-r.finished:
			stop()
			delete(r.running, a.number)
			if a.err == nil {
				r.stop(a.number)
				a.answer.Calls = r.begun
				return a.answer, nil
			}
			r.errs = append(r.errs, a.err)
			r.start(ctx)
		case <-overdue:
			r.start(ctx)
		}
	}
	if len(r.errs) == 0 {
		return Answer[T]{}, errors.New("no model configured")
	}
	return Answer[T]{}, errors.Join(r.errs...)
}

// start asks the next available model; the run's own one only if no other is in
// progress.
func (r *race[T]) start(ctx context.Context) {
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
		if cand.err != nil {
			r.chain.opts.observe(Call{Ref: cand.ref, Outcome: OutcomeUnresolved, Err: cand.err})
			r.errs = append(r.errs, fmt.Errorf("%s: %w", cand.ref, cand.err))
			continue
		}
		done, err := r.chain.opts.admit(cand.ref)
		if err == nil {
			r.ask(ctx, cand, done)
			return
		}
		r.errs = append(r.errs, fmt.Errorf("%s: %w", cand.ref, err))
	}
}

// overdue fires when the next model is to be asked in addition; it never fires
// if no other model can be asked.
func (r *race[T]) overdue() (fires <-chan time.Time, stop func()) {
	left := time.Until(r.deadline)
	if r.deadline.IsZero() || left <= 0 || !r.another() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Duration(primaryShare * float64(left)))
	return t.C, func() { t.Stop() }
}

// another reports whether a configured model that can be asked is left.
func (r *race[T]) another() bool {
	return slices.ContainsFunc(r.chain.candidates[r.next:], func(c candidate) bool { return c.err == nil })
}

// ask starts a call of one model.
func (r *race[T]) ask(ctx context.Context, cand candidate, done func(error)) {
	r.begun++
	number := r.begun
	own, cancel := context.WithCancelCause(ctx)
	r.running[number] = cancel
	go func() {
		defer cancel(nil)
		if most := r.chain.opts.CallTimeout; most > 0 {
			late := fmt.Errorf("no answer within %s: %w", most, context.DeadlineExceeded)
			defer time.AfterFunc(most, func() { cancel(late) }).Stop()
		}
		answer, err := call(own, r.chain.opts, cand.ref, r.deadline, done, func() (value T, usage provider.Usage, err error) {
			completion, err := cand.model.Complete(own, r.question.Request)
			if err != nil {
				return value, completion.Usage, err
			}
			value, err = r.question.Parse(completion.Text)
			if err != nil && !errors.Is(err, ErrUnparsable) {
				err = fmt.Errorf("%w: %w", ErrUnparsable, err)
			}
			return value, completion.Usage, err
		})
		if err != nil {
			err = fmt.Errorf("%s: %w", cand.ref, err)
		}
		r.finished <- attempt[T]{number, answer, err}
	}()
}

// stop cancels the other models when one has won. A model that began before the
// winner had its share of the time, so it counts as late; one that began after
// it is merely not needed.
func (r *race[T]) stop(winner int) {
	for number, cancel := range r.running {
		if number < winner {
			cancel(errOvertaken)
		} else {
			cancel(errUnwanted)
		}
	}
}
