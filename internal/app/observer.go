package app

import (
	"log/slog"
	"time"

	"intenthint/classify"
	"intenthint/internal/telemetry"
)

// Observer hands what the models and the classifier tell to the metrics and
// the log.
type Observer struct {
	*telemetry.Metrics
	Log *slog.Logger
}

// AnsweredLocally implements [classify.Observer].
func (o Observer) AnsweredLocally(cause error) {
	if cause != nil {
		o.Log.Debug("model call failed, using the local answer", "cause", cause)
	}
}

// ModelCalled implements [classify.CallObserver].
func (o Observer) ModelCalled(c classify.Call) {
	o.ModelCall(c)
	switch {
	case c.Err == nil:
	case c.Outcome == classify.OutcomeOpen, c.Outcome == classify.OutcomeCanceled:
		// Said once, when the breaker opened, or nobody's fault.
		o.Log.Debug("model not asked", "model", c.Ref, "outcome", c.Outcome, "error", c.Err)
	default:
		o.Log.Warn("model call failed", "model", c.Ref, "outcome", c.Outcome, "took_ms", c.Duration.Milliseconds(), "error", c.Err)
	}
}

// BreakerOpened implements [classify.BreakerObserver].
func (o Observer) BreakerOpened(ref string, pause time.Duration, cause error) {
	o.ModelBreaker(ref, true)
	o.Log.Warn("circuit breaker opened", "model", ref, "pause_ms", pause.Milliseconds(), "error", cause)
}

// BreakerClosed implements [classify.BreakerObserver].
func (o Observer) BreakerClosed(ref string) {
	o.ModelBreaker(ref, false)
	o.Log.Info("circuit breaker closed", "model", ref)
}
