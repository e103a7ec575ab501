package app

import (
	"context"
	"time"

	"intenthint/internal/tracing"
)

// lastTraces bounds how long a stop waits for a collector.
const lastTraces = 3 * time.Second

// trace begins to send traces if the environment asks for them. It is the last thing to
// end. Variables that are wrong do not stop the start: they are often meant for all
// programs of a machine.
func (a *App) trace(ctx context.Context) error {
	stop, err := tracing.Start(ctx, a.opts.Version, a.log)
	if err != nil {
		a.log.Warn("traces off", "error", err)
	}
	if stop == nil {
		return nil
	}
	a.cleanup.add("traces", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, lastTraces)
		defer cancel()
		return stop(ctx)
	})
	return nil
}
