package handlers

import (
	"cmp"

	"intenthint/conversation"
	"intenthint/payload"
	"intenthint/store"
)

// turnBegun begins a turn with its message and classification.
func turnBegun(d Decoder, env payload.Envelope, _ payload.Context, f *store.Fact) error {
	e, err := payload.DecodeTurnBegun(env.Event)
	if err != nil {
		return err
	}
	f.RunID = cmp.Or(e.RunID, f.RunID)
	f.Begin = &store.Begin{
		Input: d.stored(e.Prompt), Message: d.stored(e.Message), Conversation: conversation.StoredTurns(e.Conversation, d.Redact), Earlier: e.Earlier,
		Result: e.Result, Skip: e.Skip, HeldOut: e.HeldOut, ModelUse: e.ModelUse,
	}
	for _, s := range e.Skills {
		f.Begin.Skills = append(f.Begin.Skills, store.Skill{Name: s.Name, Path: s.Path})
	}
	return nil
}
