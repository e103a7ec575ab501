package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
)

// counting is a model that remembers how often it was asked, and how often a
// call was cut short.
type counting struct {
	*completer
	calls, cut int
}

func (c *counting) Complete(ctx context.Context, _ provider.Request) (provider.Completion, error) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	select {
	case <-time.After(c.delay):
		return provider.Completion{Text: c.text}, c.err
	case <-ctx.Done():
		c.mu.Lock()
		c.cut++
		c.mu.Unlock()
		return provider.Completion{}, ctx.Err()
	}
}

// Resolve makes it the only model there is, p/a.
func (c *counting) Resolve(ref string) (provider.Completer, error) {
	if ref != "p/a" {
		return nil, provider.ErrUnresolved
	}
	return c, nil
}

// asker is one who asks: when, with what budget, and when it leaves.
type asker struct {
	at, budget, leaves time.Duration
	latest             string

	err  error         // expected
	took time.Duration // expected
}

func TestChainSharesTheAnswerToOneQuestion(t *testing.T) {
	const day = 24 * time.Hour
	broken := errors.New("broken")
	tests := []struct {
		name       string
		model      *completer
		askers     []asker
		calls, cut int
		shared     int
	}{
		{
			name: "at once", model: &completer{delay: time.Second, text: goodAnswer},
			askers: []asker{{budget: day, took: time.Second}, {budget: day, took: time.Second}, {budget: day, took: time.Second}},
			calls:  1, shared: 2,
		},
		{
			name: "while it is in flight", model: &completer{delay: 3 * time.Second, text: goodAnswer},
			askers: []asker{{budget: day, took: 3 * time.Second}, {at: time.Second, budget: day, took: 2 * time.Second}},
			calls:  1, shared: 1,
		},
		{
			name: "when it has landed", model: &completer{delay: time.Second, text: goodAnswer},
			askers: []asker{{budget: day, took: time.Second}, {at: 2 * time.Second, budget: day, took: time.Second}},
			calls:  2,
		},
		{
			name: "different ones", model: &completer{delay: time.Second, text: goodAnswer},
			askers: []asker{{budget: day, took: time.Second}, {latest: "something else", budget: day, took: time.Second}},
			calls:  2,
		},
		{
			name: "failures too", model: &completer{delay: time.Second, err: broken},
			askers: []asker{{budget: day, took: time.Second, err: ErrFailed}, {budget: day, took: time.Second, err: ErrFailed}},
			calls:  1, shared: 1,
		},
		{
			name: "the first leaves", model: &completer{delay: 5 * time.Second, text: goodAnswer},
			askers: []asker{{budget: day, leaves: time.Second, took: time.Second, err: ErrDeadline}, {budget: day, took: 5 * time.Second}},
			calls:  1, shared: 1,
		},
		{
			name: "the first has less time", model: &completer{delay: 5 * time.Second, text: goodAnswer},
			askers: []asker{{budget: 2 * time.Second, took: 2 * time.Second, err: ErrDeadline}, {budget: day, took: 5 * time.Second}},
			calls:  1, shared: 1,
		},
		{
			name: "the second has less time", model: &completer{delay: 5 * time.Second, text: goodAnswer},
			askers: []asker{{budget: day, took: 5 * time.Second}, {budget: 2 * time.Second, took: 2 * time.Second, err: ErrDeadline}},
			calls:  1, shared: 1,
		},
		{
			name: "all leave", model: &completer{delay: time.Hour, text: goodAnswer},
			askers: []asker{{budget: day, leaves: time.Second, took: time.Second, err: ErrDeadline}, {budget: 2 * time.Second, took: 2 * time.Second, err: ErrDeadline}},
			calls:  1, cut: 1, shared: 1,
		},
		{
			name: "a canceled question is not joined", model: &completer{delay: 3 * time.Second, text: goodAnswer},
			askers: []asker{{budget: time.Second, took: time.Second, err: ErrDeadline}, {at: time.Second + time.Millisecond, budget: day, took: 3 * time.Second}},
			calls:  2, cut: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := question()
			synctest.Test(t, func(t *testing.T) {
				model, seen := &counting{completer: tt.model}, &calls{}
				chain := NewChain(model, Options{Observer: seen}, "p/a")
				errs, took := make([]error, len(tt.askers)), make([]time.Duration, len(tt.askers))
				results := make([]Answer[verdict], len(tt.askers))
				var asking sync.WaitGroup
				for i, a := range tt.askers {
					asking.Go(func() {
						time.Sleep(a.at + time.Duration(i)) // in this order
						own := in
						if a.latest != "" {
							own.Request.User = a.latest
						}
						ctx, cancel := context.WithTimeout(t.Context(), a.budget)
						defer cancel()
						if a.leaves > 0 {
							time.AfterFunc(a.leaves, cancel)
						}
						start := time.Now()
						results[i], errs[i] = Ask(ctx, chain, own)
						took[i] = time.Since(start)
					})
				}
				asking.Wait()
				for i, a := range tt.askers {
					require.InDelta(t, a.took, took[i], 10, "asker %d", i)
					if a.err != nil {
						require.ErrorIs(t, errs[i], a.err)
						continue
					}
					require.NoError(t, errs[i])
					require.Equal(t, goodVerdict(), results[i].Value)
					require.Equal(t, "p/a", results[i].Ref)
				}
				require.Equal(t, tt.calls, model.calls)
				require.Equal(t, tt.cut, model.cut)
				shared := 0
				for _, call := range seen.list {
					if call.Outcome == OutcomeShared {
						require.Equal(t, "p/a", call.Ref)
						shared++
					}
				}
				require.Equal(t, tt.shared, shared)
				require.Empty(t, chain.flights.flying)
			})
		})
	}
}

func TestChainSharesNothingBetweenDifferentRunModels(t *testing.T) {
	in := question()
	synctest.Test(t, func(t *testing.T) {
		models := resolver{"p/a": {delay: time.Second, err: errors.New("broken")}, "r/one": ok(0), "r/two": ok(0)}
		chain := NewChain(models, Options{}, "p/a")
		var asking sync.WaitGroup
		for _, run := range []string{"r/one", "r/two"} {
			asking.Go(func() {
				own := in
				own.RunModel = run
				got, err := Ask(t.Context(), chain, own)
				if err != nil || got.Ref != run {
					t.Errorf("%s: %v, %v", run, got.Ref, err)
				}
			})
		}
		asking.Wait()
	})
}

func TestChainConcurrently(t *testing.T) {
	in := question()
	model := &counting{completer: &completer{delay: time.Millisecond, text: goodAnswer}}
	chain := NewChain(model, Options{Breakers: NewBreakers(nil)}, "p/a")
	var asking sync.WaitGroup
	for g := range 16 {
		asking.Go(func() {
			for i := range 50 {
				own := in
				own.Request.User = fmt.Sprint("question ", i%3)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(g+i)%5)*time.Millisecond)
				_, err := Ask(ctx, chain, own)
				cancel()
				if err != nil && !errors.Is(err, ErrDeadline) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	asking.Wait()
	require.Empty(t, chain.flights.flying)
}

type panicking struct{}

func (panicking) Complete(context.Context, provider.Request) (provider.Completion, error) {
	panic("a library gave up")
}

func (p panicking) Resolve(string) (provider.Completer, error) { return p, nil }

func TestChainSurvivesAPanic(t *testing.T) {
	seen := &calls{}
	_, err := Ask(t.Context(), NewChain(panicking{}, Options{Observer: seen, Breakers: NewBreakers(nil)}, "p/a"), question())
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorContains(t, err, "a library gave up")
	require.Equal(t, OutcomeFailed, seen.list[0].Outcome)
}
