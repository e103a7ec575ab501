package handlers

import (
	"cmp"

	"intenthint/payload"
	"intenthint/store"
)

// agentEnd ends one attempt of a run: with the assistant's last text, or the
// error that a gateway may report as a success (contract §8).
func agentEnd(d Decoder, env payload.Envelope, _ payload.Context, f *store.Fact) error {
	e, err := payload.DecodeAgentEnd(env.Event)
	if err != nil {
		return err
	}
	f.RunID = cmp.Or(e.RunID, f.RunID)
	result, failure := e.Outcome()
	f.End = &store.End{Result: d.stored(result), Error: d.stored(failure)}
	return nil
}
