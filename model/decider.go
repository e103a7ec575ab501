package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"intenthint/model/provider"
)

// DecisionClient answers typed questions, by question, as JSON of the wire.
type DecisionClient interface {
	Decide(ctx context.Context, q provider.Decisions) (json.RawMessage, provider.Usage, error)
}

// Decider asks one decision model. It is immutable except for the questions in
// progress.
type Decider struct {
	ref     string
	client  DecisionClient
	opts    Options
	flights flights
}

// NewDecider returns the decider of the model provider/model.
func NewDecider(ref string, client DecisionClient, opts Options) *Decider {
	return &Decider{ref: ref, client: client, opts: opts}
}

// Decide asks the model once; equal questions in progress share one answer. Errors
// are [ErrDeadline] and [ErrFailed]; the latter wraps [ErrOpen] when the circuit
// breaker is open, and [ErrUnparsable] when the model says that it does not know.
func (d *Decider) Decide(ctx context.Context, q provider.Decisions) (Answer[json.RawMessage], error) {
	key := string(q.State) + "\x00" + string(q.Questions)
	return share(ctx, &d.flights, d.opts, d.ref, key, func(ctx context.Context, deadline time.Time) (Answer[json.RawMessage], error) {
		done, err := d.opts.admit(d.ref)
		if err != nil {
			return Answer[json.RawMessage]{}, err
		}
		return call(ctx, d.opts, d.ref, deadline, done, func() (json.RawMessage, provider.Usage, error) {
			answers, usage, err := d.client.Decide(ctx, q)
			if status, ok := errors.AsType[*provider.StatusError](err); ok && status.Abstains() {
				err = fmt.Errorf("%w: %w", ErrUnparsable, err)
			}
			return answers, usage, err
		})
	})
}
