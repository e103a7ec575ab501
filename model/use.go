package model

import (
	"context"
	"sync"

	"intenthint/model/provider"
)

// Use counts the model calls made for a context. A call that several questions
// share counts for the one that began it. The zero value has counted nothing;
// it is safe for concurrent use.
type Use struct {
	mu              sync.Mutex
	calls, answered int
	usage           provider.Usage
}

type useKey struct{}

// CountUse returns a context whose model calls are counted.
func CountUse(ctx context.Context) (context.Context, *Use) {
	use := &Use{}
	return context.WithValue(ctx, useKey{}, use), use
}

// useOf returns the counter of a context's calls, nil for none.
func useOf(ctx context.Context) *Use {
	use, _ := ctx.Value(useKey{}).(*Use)
	return use
}

// Total returns how many calls were sent, how many of them have not given a
// usable answer (including calls still in progress), and the usage of the calls
// that have ended.
func (u *Use) Total() (calls, failed int, usage provider.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls, u.calls - u.answered, u.usage
}

func (u *Use) begin() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls++
}

func (u *Use) end(c Call) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if c.Outcome == OutcomeOK {
		u.answered++
	}
	u.usage.InputTokens += c.Usage.InputTokens
	u.usage.OutputTokens += c.Usage.OutputTokens
	u.usage.CachedTokens += c.Usage.CachedTokens
}
