package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"intenthint/model/provider"
)

// verdict is what these tests ask for: whether a message of a group is to be
// answered. It has nothing to do with classification.
type verdict struct {
	Respond bool
	Why     string
}

const goodAnswer = "RESPOND because it is a question"

func goodVerdict() verdict { return verdict{Respond: true, Why: "it is a question"} }

func parseVerdict(text string) (verdict, error) {
	word, why, _ := strings.Cut(text, " because ")
	switch word {
	case "RESPOND", "SKIP":
		return verdict{word == "RESPOND", why}, nil
	}
	return verdict{}, errors.New("neither RESPOND nor SKIP")
}

func question() Question[verdict] {
	return Question[verdict]{
		Request: provider.Request{System: "Decide.", User: "Is anybody there?", MaxTokens: 10},
		Parse:   parseVerdict,
	}
}

// patient asks a chain with a budget of ten seconds.
func patient(t *testing.T, chain *Chain, q Question[verdict]) (Answer[verdict], error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return Ask(ctx, chain, q)
}

// completer is a model that takes its time and honours its context.
type completer struct {
	delay time.Duration
	text  string
	err   error

	mu sync.Mutex
	// asked is the request of the last call.
	asked provider.Request
}

func (c *completer) Complete(ctx context.Context, req provider.Request) (provider.Completion, error) {
	c.mu.Lock()
	c.asked = req
	c.mu.Unlock()
	select {
	case <-time.After(c.delay):
	case <-ctx.Done():
		return provider.Completion{}, ctx.Err()
	}
	return provider.Completion{Text: c.text, Usage: provider.Usage{InputTokens: 7}}, c.err
}

// resolver holds models by reference; what it does not hold is unresolved.
type resolver map[string]*completer

func (r resolver) Resolve(ref string) (provider.Completer, error) {
	if m, ok := r[ref]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("%w: %q", provider.ErrUnresolved, ref)
}

// calls records what an observer is told.
type calls struct {
	mu   sync.Mutex
	list []Call
}

func (c *calls) ModelCalled(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call)
}

// summary is "ref outcome duration" for each call.
func (c *calls) summary() []string {
	var out []string
	for _, call := range c.list {
		out = append(out, fmt.Sprintf("%s %s %s", call.Ref, call.Outcome, call.Duration))
	}
	return out
}

func ok(delay time.Duration) *completer { return &completer{delay: delay, text: goodAnswer} }
