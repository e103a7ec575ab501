package expand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"intenthint/internal/retry"
	"intenthint/model"
	"intenthint/model/provider"
)

const (
	// maxRounds is how often all models are asked the same question if busy ones
	// are among them.
	maxRounds = 4
	// maxPause is the longest wait for a provider. A provider that asks for more
	// counts as failed.
	maxPause = 90 * time.Second
)

// roundRetry bounds the pauses between rounds in which no provider says how long to
// wait.
var roundRetry = retry.Backoff{First: 2 * time.Second, Max: maxPause}

// Models asks several models in turn until one answers. A busy provider is
// retried after the time it asks for. It is not safe for concurrent use.
type Models struct {
	// Waiting, if not nil, is called before each pause.
	Waiting func(pause time.Duration, cause error)
	// Usage adds up what the calls cost, and Calls counts those that were sent.
	Usage provider.Usage
	Calls int

	models  model.Resolver
	refs    []string
	timeout time.Duration
	busy    map[string]time.Time // when a provider may be asked again, by model

	mu    sync.Mutex
	calls []model.Call // in the current round
}

// NewModels returns the models of references in order of preference. The timeout
// bounds one call.
func NewModels(timeout time.Duration, models model.Resolver, refs ...string) *Models {
	return &Models{models: models, refs: refs, timeout: timeout, busy: map[string]time.Time{}}
}

// Suggest asks for suggestions, see [Ask].
func (m *Models) Suggest(ctx context.Context, req provider.Request) (model.Answer[[]string], error) {
	return Ask(ctx, m, model.Question[[]string]{Request: req, Parse: parseAnswer})
}

// Ask asks one model after the other. If a busy one is among those that failed,
// it asks all of them again after the pause that the provider wants, but at
// most 90 s. Errors are those of all models in the last round, or that of ctx.
func Ask[T any](ctx context.Context, m *Models, question model.Question[T]) (model.Answer[T], error) {
	for round := 0; ; round++ {
		chain := model.NewChain(m, model.Options{Observer: m, CallTimeout: m.timeout}, m.refs...)
		answer, err := model.Ask(ctx, chain, question)
		wait, cause, failed := m.account(round)
		switch {
		case err == nil || ctx.Err() != nil:
			return answer, ctx.Err()
		case cause == nil || wait > maxPause || round+1 == maxRounds:
			return answer, failed
		}
		if m.Waiting != nil {
			m.Waiting(wait, cause)
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return answer, err
		}
	}
}

// Refs returns the references of the models, first choice first.
func (m *Models) Refs() []string { return m.refs }

// account sums up a round: failed joins the errors of all models; cause is the
// error of the busy model that can be asked again first, nil for none.
func (m *Models) account(round int) (wait time.Duration, cause, failed error) {
	var errs []error
	for _, call := range m.calls {
		m.Usage.InputTokens += call.Usage.InputTokens
		m.Usage.OutputTokens += call.Usage.OutputTokens
		m.Usage.CachedTokens += call.Usage.CachedTokens
		if call.Outcome.Sent() {
			m.Calls++
		}
		if call.Err == nil {
			continue
		}
		err := fmt.Errorf("%s: %w", call.Ref, call.Err)
		errs = append(errs, err)
		if d, busy := m.remaining(call, round); busy && (cause == nil || d < wait) {
			wait, cause = d, err
		}
	}
	m.calls = nil
	return wait, cause, errors.Join(errs...)
}

// errBusy reports a provider that told when to send the next request.
var errBusy = errors.New("rate limited")

// remaining returns how long to wait for a model that is only busy, and
// remembers that time if its provider told it.
func (m *Models) remaining(call model.Call, round int) (d time.Duration, busy bool) {
	if errors.Is(call.Err, errBusy) {
		return time.Until(m.busy[call.Ref]), true
	}
	status, ok := errors.AsType[*provider.StatusError](call.Err)
	if !ok {
		return 0, false
	}
	const overloaded = 529 // Anthropic's
	switch status.Code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, overloaded:
	default:
		return 0, false
	}
	if status.RetryAfter > 0 {
		m.busy[call.Ref] = time.Now().Add(status.RetryAfter)
	}
	return cmp.Or(status.RetryAfter, roundRetry.Pause(round+1)), true
}

// Resolve implements [model.Resolver]: a model whose provider is busy cannot be
// resolved.
func (m *Models) Resolve(ref string) (provider.Completer, error) {
	if d := time.Until(m.busy[ref]); d > 0 {
		return nil, fmt.Errorf("%w for another %s", errBusy, d.Round(time.Second))
	}
	return m.models.Resolve(ref)
}

// ModelCalled implements [model.Observer].
func (m *Models) ModelCalled(call model.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
}
