package classify

import (
	"context"
	"slices"
	"time"

	"intenthint/conversation"
	"intenthint/intents"
	"intenthint/model"
	"intenthint/payload"
)

// Errors of a classification. Each is a Hint-Skip value of contract §3.
var (
	// ErrFailed reports that no model gave a usable answer (classify_failed).
	ErrFailed = model.ErrFailed
	// ErrDeadline reports that the model missed the deadline (deadline).
	ErrDeadline = model.ErrDeadline
	// ErrOverloaded reports more concurrent classifications than HINT_MAX_INFLIGHT
	// (overloaded).
	ErrOverloaded = model.ErrOverloaded
)

// Input is one message to classify.
type Input struct {
	// Catalog holds the intents that may be answered.
	Catalog *intents.Catalog
	// Conversation is the history, oldest first, already cleaned and cut.
	Conversation []payload.Turn
	// Earlier are the user's last recorded messages before Latest, oldest first,
	// if Conversation has no user messages. Models do not get them.
	Earlier []payload.Turn
	// Said is what the assistant said last before Latest, less cut than the last turn
	// of Conversation, which it stands for in this process; "" if that is whole.
	Said string
	// Latest is the message, already cleaned and cut.
	Latest string
	// Whole makes the local classifier read Latest as one text, where it need not be a
	// request: without looking for courtesies, tasks and other people's words in it.
	Whole bool
	// Paste is the pasted text that Latest holds, and what stands around it; nil for
	// none.
	Paste *conversation.Paste
	// Now is the current time in the user's zone.
	Now time.Time
	// RunModel is the run's own model as provider/model, the last resort of the
	// model path; "" if unknown.
	RunModel string

	// local is set once AsksModel has asked the local classifier.
	local *measured
}

// measured is a local answer and how long it took.
type measured struct {
	answer payload.Classification
	took   time.Duration
}

// Before returns the known turns before Latest: Earlier and Conversation, with Said
// in the place of its last turn. The caller must not modify the result.
func (in *Input) Before() []payload.Turn {
	n := len(in.Conversation) - 1
	said := in.Said != "" && n >= 0 && in.Conversation[n].Role == payload.RoleAssistant
	switch {
	case len(in.Earlier) == 0 && !said:
		return in.Conversation
	case len(in.Conversation) == 0:
		return in.Earlier
	}
	before := slices.Concat(in.Earlier, in.Conversation)
	if said {
		before[len(before)-1].Text = in.Said
	}
	return before
}

// Mode is one of the values of HINT_CLASSIFIER other than auto.
type Mode string

// Modes of contract §9.
const (
	ModeLocal   Mode = "local"
	ModeLLM     Mode = "llm"
	ModeHedged  Mode = "hedged"
	ModeCascade Mode = "cascade"
)

// Local is a classifier in this process: fast, always available, never failing.
type Local interface {
	Classify(in Input) payload.Classification
}

// Model is the model path: it asks one or more models within the context's
// deadline. Its errors are [ErrFailed] and [ErrDeadline].
type Model interface {
	Classify(ctx context.Context, in Input) (payload.Classification, error)
}
