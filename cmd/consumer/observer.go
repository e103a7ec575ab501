package main

import (
	"log/slog"
	"time"

	"intenthint/classify"
	"intenthint/internal/telemetry"
	"intenthint/payload"
)

// observer hands what the handlers and the classifier tell to the metrics and
// the log.
type observer struct {
	*telemetry.Metrics
	log *slog.Logger
}

// Classified implements [handlers.HintObserver].
func (o observer) Classified(source string, took time.Duration) {
	if source == payload.SourceLLM {
		o.ModelClassified(took)
		return
	}
	o.LocalClassified(took)
}

// AnsweredLocally implements [classify.Observer].
func (o observer) AnsweredLocally(cause error) {
	if cause != nil {
		o.log.Debug("the local answer was given in place of the model's", "cause", cause)
	}
}

// ModelCalled implements [classify.CallObserver].
func (o observer) ModelCalled(c classify.Call) {
	o.ModelCall(c.Ref, string(c.Outcome), c.Duration, telemetry.Usage{
		In: c.Usage.InputTokens, Out: c.Usage.OutputTokens, Cached: c.Usage.CachedTokens,
	})
	if c.Err != nil {
		o.log.Warn("a model was of no use", "model", c.Ref, "outcome", c.Outcome, "took", c.Duration.Round(time.Millisecond), "error", c.Err)
	}
}
