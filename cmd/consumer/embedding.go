package main

import (
	"fmt"

	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/internal/app"
)

// embeddingFor makes the embedding tier for a command, nil when no model is
// configured. A failure is printed, and the local classifier answers alone.
func (inv *invocation) embeddingFor(catalog *intents.Catalog, model *local.Model, o app.Observer) *app.Tier {
	var bar *progress
	tier, err := app.Teach(inv.ctx, inv.cfg, catalog, model, o, func(done, of int) {
		if bar == nil {
			bar = newProgress(inv.stderr, of)
		}
		bar.show(done)
	})
	if bar != nil {
		bar.clear()
	}
	if err != nil {
		_, _ = fmt.Fprintf(inv.stderr, "embedding model unavailable, the local classifier answers alone: %v\n", err)
		return nil
	}
	return tier
}
