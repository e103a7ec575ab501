package expand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"intenthint/model/provider"
)

// Times of asking.
const (
	// maxRounds is how often all models are asked one question when those that
	// could answer are busy.
	maxRounds = 4
	// pause comes before the second round when no provider says how long to
	// wait; it doubles from round to round.
	pause = 2 * time.Second
	// MaxPause is the longest that is waited for a provider. One that wants
	// more has failed.
	MaxPause = 90 * time.Second
)

// Model is a model and its reference, provider/model.
type Model struct {
	Ref       string
	Completer provider.Completer
}

// Suggestions are what a model has answered.
type Suggestions struct {
	Texts []string
	// Ref is the model.
	Ref string
}

// Models asks the first of several models that can answer. It is not safe for
// concurrent use.
type Models struct {
	// Timeout bounds one call.
	Timeout time.Duration
	// Waiting, when not nil, is told before each pause.
	Waiting func(pause time.Duration, cause error)
	// Usage adds up what the calls cost.
	Usage provider.Usage

	models []Model
	// busy says until when a provider does not want to be asked, by model.
	busy map[string]time.Time
}

// NewModels returns the models in order of preference.
func NewModels(timeout time.Duration, models ...Model) *Models {
	return &Models{Timeout: timeout, models: models, busy: map[string]time.Time{}}
}

// Suggest asks for suggestions: one model after the other, and all of them again
// after a pause when a busy one is among those that failed, as long as they want
// but no longer than [MaxPause]. Errors are those of all models in the last
// round, or that of ctx.
func (m *Models) Suggest(ctx context.Context, req provider.Request) (Suggestions, error) {
	for round := 0; ; round++ {
		var errs []error
		var wait time.Duration
		var cause error
		for _, model := range m.models {
			texts, err := m.ask(ctx, model, req)
			if err == nil {
				return Suggestions{Texts: texts, Ref: model.Ref}, nil
			}
			if ctx.Err() != nil {
				return Suggestions{}, ctx.Err()
			}
			err = fmt.Errorf("%s: %w", model.Ref, err)
			errs = append(errs, err)
			if d, busy := m.remaining(model.Ref, err, round); busy && (cause == nil || d < wait) {
				wait, cause = d, err
			}
		}
		if cause == nil || wait > MaxPause || round+1 == maxRounds {
			return Suggestions{}, errors.Join(errs...)
		}
		if m.Waiting != nil {
			m.Waiting(wait, cause)
		}
		select {
		case <-ctx.Done():
			return Suggestions{}, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// errBusy: a provider has said when it wants to be asked again.
var errBusy = errors.New("not asked, since it is too busy")

func (m *Models) ask(ctx context.Context, model Model, req provider.Request) ([]string, error) {
	if d := time.Until(m.busy[model.Ref]); d > 0 {
		return nil, fmt.Errorf("%w for another %s", errBusy, d.Round(time.Second))
	}
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	answer, err := model.Completer.Complete(ctx, req)
	m.Usage.InputTokens += answer.Usage.InputTokens
	m.Usage.OutputTokens += answer.Usage.OutputTokens
	m.Usage.CachedTokens += answer.Usage.CachedTokens
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("no answer within %s: %w", m.Timeout, err)
	}
	if err != nil {
		return nil, err
	}
	return ParseAnswer(answer.Text)
}

// remaining says how long to wait for a model that is merely busy, and
// remembers it when its provider has said so.
func (m *Models) remaining(ref string, err error, round int) (d time.Duration, busy bool) {
	if errors.Is(err, errBusy) {
		return time.Until(m.busy[ref]), true
	}
	status, ok := errors.AsType[*provider.StatusError](err)
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
		m.busy[ref] = time.Now().Add(status.RetryAfter)
	}
	return cmp.Or(status.RetryAfter, pause<<round), true
}
