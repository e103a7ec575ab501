package state

import (
	"cmp"
	"context"
	"time"

	"intenthint/internal/kv"
	"intenthint/internal/retry"
)

// Values of [Decision.Verdict] and [Mark.Verdict].
const (
	Respond = "respond"
	Skip    = "skip"
)

// Decision is the decision about one message of a group.
type Decision struct {
	Group     string `json:"group"`
	MessageID string `json:"messageId"`
	Agent     string `json:"agent"`
	Sender    string `json:"sender"`
	// Text is on one line, of at most 500 characters, and redacted with
	// HINT_REDACT=strict.
	Text string `json:"text"`
	// At is when the message was sent, in Unix milliseconds of the gateway's
	// clock; when it was received, if the gateway did not send the time.
	At int64 `json:"at"`
	// Verdict is [Respond] or [Skip], Reason the value of Triage-Reason.
	Verdict string `json:"decision"`
	Reason  string `json:"reason"`
	// Score is 1–10 if a model was asked for one, else 0.
	Score int `json:"score,omitempty"`
	// Model is provider/model if a model answered; Tokens are the tokens of all
	// calls, including those whose answer could not be used.
	Model     string  `json:"model,omitempty"`
	Tokens    Tokens  `json:"tokens,omitzero"`
	ElapsedMs float64 `json:"elapsedMs"`

	// Decided is when the decision was stored, by the server's clock.
	Decided time.Time `json:"-"`
}

// Tokens are the tokens that model calls took.
type Tokens struct {
	In  int `json:"in"`
	Out int `json:"out"`
}

const decisionKey = "d."

// readRetry bounds the pauses for a replica that does not have a decision yet.
var readRetry = retry.Backoff{First: 2 * time.Millisecond, Max: 50 * time.Millisecond}

// Decision returns the decision about a message; ok reports whether one is known.
func (s *Store) Decision(ctx context.Context, group, messageID string) (d Decision, ok bool, err error) {
	known, err := s.stored(ctx, group, messageID)
	return known.V, known.Revision > 0 && known.Broken == nil, err
}

func (s *Store) stored(ctx context.Context, group, messageID string) (kv.Value[Decision], error) {
	known, err := kv.Get[Decision](ctx, s.decisions, decisionKey+tokens(group, messageID))
	known.V.Decided = known.Created
	return known, err
}

// Decide stores a decision. If there already is one about the message, that one
// stays in force: it is returned and first is false.
func (s *Store) Decide(ctx context.Context, d Decision) (standing Decision, first bool, err error) {
	for attempt := 1; ; attempt++ {
		if _, err := s.decisions.Put(ctx, decisionKey+tokens(d.Group, d.MessageID), d, 0); !kv.IsConflict(err) {
			return d, err == nil, err
		}
		known, err := s.stored(ctx, d.Group, d.MessageID)
		if err = cmp.Or(err, known.Broken); err != nil || known.Revision > 0 {
			return known.V, false, err
		}
		// The replica that answered does not have it yet, or it has just expired.
		if err := readRetry.Wait(ctx, attempt); err != nil {
			return d, false, err
		}
	}
}

// Decisions calls yield with every decision stored since the given time, the
// zero time for all, in no particular order. An error of yield ends it.
func (s *Store) Decisions(ctx context.Context, since time.Time, yield func(Decision) error) error {
	return each(ctx, s.decisions, decisionKey+">", func(d Decision, created time.Time) error {
		if created.Before(since) {
			return nil
		}
		d.Decided = created
		return yield(d)
	})
}
