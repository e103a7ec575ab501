package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/internal/bus"
	"intenthint/internal/fair"
	"intenthint/subjects"
)

// turns tells the stream and the other processes of turns that begin.
type turns struct {
	layout    bus.Layout
	publisher *bus.Publisher
	runs      *bus.Runs
	claims    atomic.Pointer[bus.Claims]
	log       *slog.Logger
}

// TurnBegun implements [handlers.Bus]. A retry that follows the reply finds the
// other processes told: the broadcast is on the connection of the reply, right
// before it, so that one write to the socket takes both.
func (t *turns) TurnBegun(agent, session, id, traceparent string, body []byte) {
	m := &nats.Msg{Subject: t.layout.Prefix.Event(subjects.HookTurnBegun, agent, session), Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderMsgID, id)
	if traceparent != "" {
		m.Header.Set(subjects.HeaderTraceparent, traceparent)
	}
	t.publisher.Publish(m)
	if err := t.runs.Broadcast(body); err != nil {
		t.log.Debug("telling the other processes", "error", err)
	}
}

// Claim implements [handlers.Bus].
func (t *turns) Claim(ctx context.Context, run string, until time.Time) (promised time.Time) {
	fair.Yield(ctx)
	claims := t.claims.Load()
	if claims == nil {
		return time.Time{}
	}
	return claims.Claim(ctx, run, time.Now(), until)
}

// Release implements [handlers.Bus]. A request that is out of time does not
// wait for it.
func (t *turns) Release(ctx context.Context, run string) {
	claims := t.claims.Load()
	switch {
	case claims == nil:
	case ctx.Err() != nil:
		go claims.Release(context.WithoutCancel(ctx), run)
	default:
		claims.Release(ctx, run)
	}
}
