package app

import (
	"context"

	"intenthint/internal/access"
	"intenthint/internal/bus"
)

// warnMissingPermissions warns of the permissions that the NATS user lacks (contract §9).
// The server tells a refusal only when a permission is used, which may be much later,
// and then an event is lost. It uses a connection of its own.
func (a *App) warnMissingPermissions(ctx context.Context) {
	if a.requests.Embedded() {
		return
	}
	b, err := a.requests.Another(ctx, "intenthint rights")
	if err != nil {
		return // it is lost again, and the other connections report that
	}
	defer b.Close()
	rights, err := bus.Rights(ctx, b.NC, access.Consumer, a.layout, Buckets(a.cfg)...)
	if err != nil && ctx.Err() == nil {
		a.log.Debug("permissions of the NATS user not tried", "error", err)
	}
	for _, r := range rights {
		if r.Err != nil {
			a.log.Warn("NATS user lacks a permission", "for", r.Does, "subject", r.Subject, "error", r.Err)
		}
	}
}
