package handlers

import (
	"intenthint/payload"
	"intenthint/store"
)

// turnBegun begins a turn with its message and classification.
func turnBegun(env payload.Envelope, _ payload.Context, f *store.Fact) error {
	e, err := payload.DecodeTurnBegun(env.Event)
	if err != nil {
		return err
	}
	if e.RunID != "" {
		f.RunID = e.RunID
	}
	f.Begin = &store.Begin{Input: e.Prompt, Conversation: e.Conversation, Result: e.Result}
	return nil
}
