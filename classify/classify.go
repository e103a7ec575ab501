// Package classify says what a user wants: with a lightweight model, with the
// local classifier, or with both against the clock (contract §6, §9).
package classify

import (
	"context"
	"errors"
	"time"

	"intenthint/intents"
	"intenthint/internal/panics"
	"intenthint/payload"
)

// Errors of a classification. Each is a Hint-Skip value of contract §3.
var (
	// ErrFailed: no model gave an answer that could be used (classify_failed).
	ErrFailed = errors.New("no model gave a usable answer")
	// ErrDeadline: the model was late (deadline).
	ErrDeadline = errors.New("the model did not answer in time")
	// ErrOverloaded: more classifications at once than HINT_MAX_INFLIGHT
	// (overloaded).
	ErrOverloaded = errors.New("too many classifications at once")
)

// Input is one message to classify.
type Input struct {
	// Catalog is what may be answered.
	Catalog *intents.Catalog
	// Conversation is the history, oldest first, already cleaned and cut.
	Conversation []payload.Turn
	// Latest is the message, already cleaned and cut.
	Latest string
	// Now is the current time in the user's zone.
	Now time.Time
	// RunModel is the run's own model as provider/model; the last resort of
	// the model path. "" for none.
	RunModel string
}

// Mode is one of the values of HINT_CLASSIFIER but auto.
type Mode string

// Modes of contract §9.
const (
	ModeLocal   Mode = "local"
	ModeLLM     Mode = "llm"
	ModeHedged  Mode = "hedged"
	ModeCascade Mode = "cascade"
)

// Local is a classifier in this process: fast, always there, never failing.
type Local interface {
	Classify(in Input) payload.Classification
}

// Model is the model path: it asks the configured models in turn, within the
// context's deadline. Its errors are [ErrFailed] and [ErrDeadline].
type Model interface {
	Classify(ctx context.Context, in Input) (payload.Classification, error)
}

// guarded is what f returns. A panic in one of the libraries that read what
// providers send costs one answer, not the process.
func guarded[V any](f func() (V, error)) (answer V, err error) {
	err = panics.Catch(func() (err error) {
		answer, err = f()
		return err
	})
	return answer, err
}
