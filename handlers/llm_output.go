package handlers

import (
	"cmp"

	"intenthint/payload"
	"intenthint/store"
)

// llmOutput records the tokens of an attempt of a run. Its texts are not read.
func llmOutput(_ Decoder, env payload.Envelope, ctx payload.Context, f *store.Fact) error {
	run, use, err := payload.DecodeLLMOutput(env.Event)
	if err != nil || use.Tokens == nil {
		return err
	}
	return used(f, cmp.Or(run, ctx.RunID), use)
}

// used makes a fact of what an agent asked of its model. One without a run id belongs
// to no turn.
func used(f *store.Fact, run string, use payload.AgentUse) error {
	if run == "" {
		return nil
	}
	use.Model, use.Effort = bounded(use.Model), bounded(use.Effort)
	f.RunID, f.Use = run, &use
	return nil
}
