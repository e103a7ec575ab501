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
	pause := time.Hour
	if keep > 0 {
		pause = min(max(keep/4, time.Second), pause)
	}
	once := func() bool {
		n, err := sessions.Sweep(ctx, keep)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("removing old sessions failed", "error", err)
		case n > 0:
			log.Info("old sessions removed", "sessions", n, "retention_s", keep.Seconds())
		}
		return false
	}
	once()
	every(ctx, pause, once)
}
