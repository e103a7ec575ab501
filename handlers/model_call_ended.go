package handlers

import (
	"cmp"

	"intenthint/payload"
	"intenthint/store"
)

// modelCallEnded counts a call of the agent's model, whatever came of it.
func modelCallEnded(_ Decoder, env payload.Envelope, ctx payload.Context, f *store.Fact) error {
	run, use, err := payload.DecodeModelCallEnded(env.Event)
	if err != nil {
		return err
	}
	return used(f, cmp.Or(run, ctx.RunID), use)
}
