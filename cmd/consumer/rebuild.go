package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/store"
	"intenthint/subjects"
)

// rebuilder applies the event stream again to sessions that were lost: single
// ones that cannot be read, and all of them when the store has vanished or is
// another one than before.
type rebuilder struct {
	js     jetstream.JetStream
	layout bus.Layout
	log    *slog.Logger
	tokens chan string
}

const (
	// rebuildCheck is how often it is looked whether the store is still there.
	rebuildCheck = 5 * time.Second
	// maxLost bounds the lost sessions that wait; more than that at once are
	// found again when they are next written to.
	maxLost = 4096
)

func newRebuilder(js jetstream.JetStream, layout bus.Layout, log *slog.Logger) *rebuilder {
	return &rebuilder{js: js, layout: layout, log: log, tokens: make(chan string, maxLost)}
}

// lost takes the token of a session that could not be read. It does not block.
func (r *rebuilder) lost(token string) {
	select {
	case r.tokens <- token:
	default:
		r.log.Warn("a lost session is not made again now, consumer sessions rebuild does it", "session", token)
	}
}

// watch rebuilds what was lost until ctx ends.
func (r *rebuilder) watch(ctx context.Context, sessions keeper) {
	tick := time.NewTicker(rebuildCheck)
	defer tick.Stop()
	known, quiet := false, false
	for {
		ok, err := r.whole(ctx, sessions, known)
		known = known || ok
		switch {
		case err == nil:
			quiet = false
		case ctx.Err() == nil && !quiet:
			quiet = true // once is enough
			r.log.Warn("it could not be seen whether sessions were lost", "error", err)
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case token := <-r.tokens:
				r.one(ctx, sessions, token)
			case <-tick.C:
				waiting = false
			}
		}
	}
}

// whole makes sure that the store holds what was applied before, and says
// whether it does. A store that is known to is only asked itself.
func (r *rebuilder) whole(ctx context.Context, sessions keeper, known bool) (bool, error) {
	source, err := sessions.Source(ctx)
	if err == nil && known && source.Stream == r.layout.Stream {
		return true, nil
	}
	place, err := bus.Where(ctx, r.js, r.layout)
	if err != nil {
		return false, err
	}
	want := store.Source{Stream: r.layout.Stream, Created: place.Created}
	same := func(s store.Source) bool { return s.Stream == want.Stream && s.Created.Equal(want.Created) }
	if same(source) {
		return true, nil
	}
	release, ok, err := sessions.Rebuilding(ctx)
	if err != nil || !ok {
		return false, err
	}
	defer release()
	if source, err = sessions.Source(ctx); err == nil && same(source) {
		return true, nil
	}
	if place.Applied > 0 {
		r.log.Warn("the session store does not hold what was applied before, the event stream is applied again", "until", place.Delivered)
		if err := r.reapply(ctx, sessions, bus.Range{Until: place.Delivered}); err != nil {
			return false, err
		}
	}
	return true, sessions.SetSource(ctx, want)
}

// one makes a session again.
func (r *rebuilder) one(ctx context.Context, sessions keeper, token string) {
	session, err := subjects.DecodeToken(token)
	if err != nil {
		session = "" // a shortened one: all events are looked at
	}
	if err := r.reapply(ctx, onlyToken{sessions, token}, bus.Range{Session: session}); err != nil && ctx.Err() == nil {
		r.log.Error("a lost session could not be made again, consumer sessions rebuild does it", "session", token, "error", err)
	}
}

func (r *rebuilder) reapply(ctx context.Context, sessions keeper, part bus.Range) error {
	began, said := time.Now(), time.Now()
	done, err := bus.Reapply(ctx, r.js, r.layout, eventFunctions(sessions), part, r.log, func(done, total int) {
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			r.log.Info("events are applied again", "done", done, "of", total)
		}
	})
	if err != nil {
		return err
	}
	r.log.Info("events were applied again", "events", done.Events, "failed", done.Failed, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// onlyToken applies the facts of one session.
type onlyToken struct {
	keeper
	token string
}

// Apply implements [store.Applier].
func (o onlyToken) Apply(ctx context.Context, facts []store.Fact) error {
	session, err := store.SessionOf(facts)
	if err != nil || subjects.Name(session) != o.token {
		return err
	}
	return o.keeper.Apply(ctx, facts)
}
