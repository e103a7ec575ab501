package handlers

import (
	"strings"

	"intenthint/conversation"
	"intenthint/payload"
	"intenthint/store"
)

// unansweredTurn begins the turn of a request that got no answer, which the
// gateway publishes as an event (contract §8). It has no classification.
func unansweredTurn(d Decoder, env payload.Envelope, ctx payload.Context, f *store.Fact) error {
	e, err := payload.DecodeBeforePromptBuild(env.Event)
	if err != nil || d.Begin == nil {
		return err
	}
	turns, ok := d.Begin(ctx, e)
	if !ok {
		return nil
	}
	for i := range turns {
		// Copy, so that the text does not hold the event, which may be megabytes.
		turns[i].Text = strings.Clone(turns[i].Text)
	}
	f.Begin = &store.Begin{Input: d.stored(e.Prompt), Message: d.stored(conversation.Beside(e)), Conversation: turns, Unanswered: true}
	return nil
}
