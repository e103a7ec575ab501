package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"intenthint/model/provider"
)

// Resolver finds a model by its reference, provider/model.
type Resolver interface {
	Resolve(ref string) (provider.Completer, error)
}

// Chain is several models in order of preference. It is immutable except for
// the questions in progress.
type Chain struct {
	resolver   Resolver
	opts       Options
	candidates []candidate
	flights    flights
}

type candidate struct {
	ref   string
	model provider.Completer
	err   error // of resolving it
}

// NewChain returns the chain of the given references, first choice first; blank
// ones and duplicates are left out.
func NewChain(resolver Resolver, opts Options, refs ...string) *Chain {
	c := &Chain{resolver: resolver, opts: opts}
	for _, ref := range refs {
		if ref = strings.TrimSpace(ref); ref != "" && !c.has(ref) {
			c.candidates = append(c.candidates, c.resolve(ref))
		}
	}
	return c
}

func (c *Chain) has(ref string) bool {
	return slices.ContainsFunc(c.candidates, func(known candidate) bool { return known.ref == ref })
}

func (c *Chain) resolve(ref string) candidate {
	m, err := c.resolver.Resolve(ref)
	return candidate{ref: ref, model: m, err: err}
}

// Question is what a chain is asked.
type Question[T any] struct {
	Request provider.Request // its MaxTokens bounds the answer
	// RunModel, as provider/model, is asked when all others have failed: the model
	// of the run that the question is about. "" for none.
	RunModel string
	// Parse reads an answer. It must depend on the request alone. Its errors count
	// as [ErrUnparsable], and the next model is asked.
	Parse func(text string) (T, error)
}

// Answer is a model's answer. Its value may be shared with callers that asked
// the same question.
type Answer[T any] struct {
	Value T
	Ref   string // provider/model
	Usage provider.Usage
	// Calls is how many models were asked, including the one that answered.
	Calls int
}

// Ask asks the models of a chain until one gives a usable answer (contract §6):
// the next one when a model cannot be resolved or fails, or in addition to one
// that has used up 60 % of the remaining time of ctx; then the first usable
// answer counts. Equal questions (request, run's model and type of answer) in
// progress at the same time share one answer (singleflight). Errors are
// [ErrDeadline] and [ErrFailed].
func Ask[T any](ctx context.Context, c *Chain, q Question[T]) (Answer[T], error) {
	q.RunModel = strings.TrimSpace(q.RunModel)
	if c.has(q.RunModel) {
		q.RunModel = ""
	}
	first := q.RunModel
	if len(c.candidates) > 0 {
		first = c.candidates[0].ref
	}
	key := questionKey{
		run: q.RunModel, system: q.Request.System, user: q.Request.User, schema: string(q.Request.Schema),
		maxTokens: q.Request.MaxTokens, partial: q.Request.Partial, temperature: q.Request.Temperature,
	}
	return share(ctx, &c.flights, c.opts, first, key, func(ctx context.Context, deadline time.Time) (Answer[T], error) {
		return runRace(ctx, c, q, deadline)
	})
}

// questionKey identifies equal questions.
type questionKey struct {
	run, system, user, schema string
	maxTokens                 int
	partial                   bool
	temperature               float64
}
