package app

import (
	"log/slog"
	"time"

	"intenthint/model"
)

// Observer passes the events of the models and the classifier to the metrics
// and the log.
type Observer struct {
	*Metrics
	Log *slog.Logger
}

// Classified implements [classify.Observer].
func (o Observer) Classified(source string, took time.Duration) { o.hints.Classified(source, took) }

// AnsweredLocally implements [classify.Observer].
func (o Observer) AnsweredLocally(cause error) {
	if cause != nil {
		o.Log.Debug("local answer used instead of the model's", "cause", cause)
	}
}

// Embedded implements [classify.Observer].
func (o Observer) Embedded(outcome string) { o.embeddings.WithLabelValues(outcome).Inc() }

// ModelCalled implements [model.Observer].
func (o Observer) ModelCalled(c model.Call) {
	o.models.ModelCalled(c)
	switch {
	case c.Err == nil:
	case c.Outcome == model.OutcomeOpen, c.Outcome == model.OutcomeCanceled, c.Outcome == model.OutcomeUnresolved:
		// Not a failure, or already logged: when the breaker opened or at the start.
		o.Log.Debug("model call skipped or canceled", "model", c.Ref, "outcome", c.Outcome, "error", c.Err)
	default:
		o.Log.Warn("model call failed", "model", c.Ref, "outcome", c.Outcome, "took_ms", c.Duration.Milliseconds(), "error", c.Err)
	}
}

// BreakerOpened implements [model.BreakerObserver].
func (o Observer) BreakerOpened(ref string, pause time.Duration, cause error) {
	o.models.BreakerOpened(ref, pause, cause)
	logged{o.Log}.BreakerOpened(ref, pause, cause)
}

// BreakerClosed implements [model.BreakerObserver].
func (o Observer) BreakerClosed(ref string) {
	o.models.BreakerClosed(ref)
	logged{o.Log}.BreakerClosed(ref)
}

// logged logs the circuit breakers of a part that shares its models with
// another part; the metrics show only the breakers of the other part.
type logged struct{ log *slog.Logger }

// BreakerOpened implements [model.BreakerObserver].
func (l logged) BreakerOpened(ref string, pause time.Duration, cause error) {
	l.log.Warn("circuit breaker opened", "model", ref, "pause_ms", pause.Round(time.Millisecond).Milliseconds(), "error", cause)
}

// BreakerClosed implements [model.BreakerObserver].
func (l logged) BreakerClosed(ref string) { l.log.Info("circuit breaker closed", "model", ref) }
