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

// AnsweredLocally implements [classify.Observer].
func (o Observer) AnsweredLocally(cause error) {
	if cause != nil {
		o.Log.Debug("local answer used instead of the model's", "cause", cause)
	}
}

// ModelCalled implements [model.Observer].
func (o Observer) ModelCalled(c model.Call) {
	o.models.ModelCalled(c)
	switch {
	case c.Err == nil:
	case c.Outcome == model.OutcomeOpen, c.Outcome == model.OutcomeCanceled:
		// Logged when the breaker opened, or not a failure.
		o.Log.Debug("model call skipped or canceled", "model", c.Ref, "outcome", c.Outcome, "error", c.Err)
	default:
		o.Log.Warn("model call failed", "model", c.Ref, "outcome", c.Outcome, "took_ms", c.Duration.Milliseconds(), "error", c.Err)
	}
}

// BreakerOpened implements [model.BreakerObserver].
func (o Observer) BreakerOpened(ref string, pause time.Duration, cause error) {
	o.models.BreakerOpened(ref, pause, cause)
	o.Log.Warn("circuit breaker opened", "model", ref, "pause_ms", pause.Round(time.Millisecond).Milliseconds(), "error", cause)
}

// BreakerClosed implements [model.BreakerObserver].
func (o Observer) BreakerClosed(ref string) {
	o.models.BreakerClosed(ref)
	o.Log.Info("circuit breaker closed", "model", ref)
}
