package main

import (
	"log/slog"
	"time"

	"intenthint/classify"
	"intenthint/internal/telemetry"
)

// observer hands what the handlers and the classifier tell to the metrics and
// the log.
type observer struct {
	*telemetry.Metrics
	log *slog.Logger
}

// AnsweredLocally implements [classify.Observer].
func (o observer) AnsweredLocally(cause error) {
	if cause != nil {
		o.log.Debug("the local answer was given in place of the model's", "cause", cause)
	}
}

// ModelCalled implements [classify.CallObserver].
func (o observer) ModelCalled(c classify.Call) {
	o.ModelCall(c)
	switch {
	case c.Err == nil:
	case c.Outcome == classify.OutcomeOpen, c.Outcome == classify.OutcomeCanceled:
		// Said once, when the breaker opened, or nobody's fault.
		o.log.Debug("a model was not needed or left alone", "model", c.Ref, "outcome", c.Outcome, "error", c.Err)
	default:
		o.log.Warn("a model was of no use", "model", c.Ref, "outcome", c.Outcome, "took", c.Duration.Round(time.Millisecond), "error", c.Err)
	}
}

// BreakerOpened implements [classify.BreakerObserver].
func (o observer) BreakerOpened(ref string, pause time.Duration, cause error) {
	o.ModelBreaker(ref, true)
	o.log.Warn("a model is left alone until it answers again", "model", ref, "pause", pause.Round(time.Millisecond), "error", cause)
}

// BreakerClosed implements [classify.BreakerObserver].
func (o observer) BreakerClosed(ref string) {
	o.ModelBreaker(ref, false)
	o.log.Info("a model answers again", "model", ref)
}
