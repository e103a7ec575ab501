package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

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

// Decide asks the model once; equal questions in progress share one answer. check
// returns what is wrong with the answers, as [ErrUnparsable]. Errors are [ErrDeadline]
// and [ErrFailed]; the latter wraps [ErrOpen] when the circuit breaker is open, and
// [ErrUnparsable] also when the model says that it does not know.
func (d *Decider) Decide(ctx context.Context, q provider.Decisions, check func(answers json.RawMessage) error) (Answer[json.RawMessage], error) {
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
			if err == nil {
				err = check(answers)
			}
			return answers, usage, err
		})
	})
}

// Boolean is a question of the wire whose answer is yes or no.
type Boolean struct {
	Instructions string
	// Yes and No say what the answers mean: each a text, or an object as rubrics of the
	// wire have them.
	Yes, No any
}

// Ask asks one question about a state, which is any JSON value, and returns the
// probability of yes. Errors are those of [Decider.Decide].
func (d *Decider) Ask(ctx context.Context, state any, q Boolean) (out Answer[float64], err error) {
	const key, kind = "answer", "noul"
	about, err := json.Marshal(state)
	if err != nil {
		return out, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	questions, err := json.Marshal(map[string]any{key: map[string]any{
		"type": kind, "instructions": q.Instructions, "criteria": map[string]any{"true": q.Yes, "false": q.No},
	}})
	if err != nil {
		return out, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	answer, err := d.Decide(ctx, provider.Decisions{State: about, Questions: questions}, func(answers json.RawMessage) error {
		given := gjson.GetBytes(answers, key)
		if p := given.Get(kind); given.Get("type").Str != kind || p.Type != gjson.Number || p.Num < 0 || p.Num > 1 {
			return fmt.Errorf("%w: no probability from 0 to 1", ErrUnparsable)
		}
		return nil
	})
	return Answer[float64]{Value: gjson.GetBytes(answer.Value, key+"."+kind).Num, Ref: answer.Ref, Usage: answer.Usage}, err
}
