package handlers

import (
	"strings"

	"intenthint/internal/text"
	"intenthint/payload"
	"intenthint/store"
)

// maxNamed bounds the names in feedback, in characters: anyone may publish it,
// and a turn is kept for long.
const maxNamed = 200

// feedback records a person's verdict on a hint in its turn. Feedback of
// another kind is not about a turn.
func feedback(_ Decoder, env payload.Envelope, _ payload.Context, f *store.Fact) error {
	e, err := payload.DecodeFeedback(env.Event)
	if err != nil || e.Kind != payload.FeedbackHint {
		return err
	}
	f.RunID = e.RunID
	f.Feedback = &store.Feedback{Verdict: e.Verdict, Intent: bounded(e.Intent), By: bounded(e.By)}
	return nil
}

// bounded returns a name on one line, cut to maxNamed characters.
func bounded(name string) string { return strings.Clone(text.Cut(text.Fold(name), maxNamed)) }
