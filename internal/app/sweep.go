package app

import (
	"context"
	"log/slog"
	"time"

	"intenthint/store"
)

// sweep removes sessions that have not changed for longer than keep, and files
// left behind by dead processes.
func sweep(ctx context.Context, sessions store.Sweeper, keep time.Duration, log *slog.Logger) {
	every := time.Hour
	if keep > 0 {
		every = min(max(keep/4, time.Second), every)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		n, err := sessions.Sweep(ctx, keep)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("removing old sessions failed", "error", err)
		case n > 0:
			log.Info("old sessions removed", "sessions", n, "retention_s", keep.Seconds())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
