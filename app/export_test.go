package app

import (
	"context"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/config"
	"intenthint/hint"
	"intenthint/hint/run"
	"intenthint/internal/hook"
	"intenthint/store"
)

// What tests of the whole system look into.
var (
	NewRebuilder = newRebuilder
	ReplayReason = replayReason
)

// NewAnswering returns what answers before_prompt_build, without a server.
func NewAnswering(cfg *config.Config) (*hook.Runner, error) {
	log := slog.New(slog.DiscardHandler)
	l := newLive(cfg, NewMetrics("test", ""), log, new(slog.LevelVar))
	if err := l.load(); err != nil {
		return nil, err
	}
	l.train()
	h := hint.New(hint.Options{Answers: run.NewAnswers(log), Publisher: discard{}, Prefix: "openclaw", MaxPayload: 8 << 20, Log: log})
	l.serve(h)
	return hook.NewRunner(hint.Hook(h), hook.Options{Timeout: l.timeout, Budget: l.hookTimeout, Log: log}), nil
}

// LearnForEver makes a system learn its intents for as long as a test runs.
func (a *App) LearnForEver() { a.train = func() { select {} } }

// Embeddings is the counter of an outcome.
func (m *Metrics) Embeddings(outcome string) prometheus.Counter {
	return m.embeddings.WithLabelValues(outcome)
}

type discard struct{}

func (discard) Publish(*nats.Msg) {}

// Steps of a rebuilder.
func (r *rebuilder) Whole(ctx context.Context, s store.Store, known bool) (bool, error) {
	return r.whole(ctx, s, known)
}

func (r *rebuilder) Single(ctx context.Context, s store.Store) error { return r.single(ctx, s) }

func (r *rebuilder) Begin(ctx context.Context, s store.Store) error { return r.begin(ctx, s) }

// SameSystem is the rule of contract §9.
var SameSystem = sameSystem

// OnStop returns the steps of a stop, the last first, and calls done after each of them.
func (a *App) OnStop(done func(ctx context.Context, step string)) (steps []string) {
	for i, step := range a.cleanup.steps {
		steps = append(steps, step.name)
		a.cleanup.steps[i].do = func(ctx context.Context) error {
			defer done(ctx, step.name)
			return step.do(ctx)
		}
	}
	return steps
}
