package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/hint"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/store"
	"intenthint/subjects"
)

// rebuilder replays the event stream into sessions that were lost: single
// sessions that cannot be read, or all of them when the store was removed or
// replaced.
type rebuilder struct {
	js     jetstream.JetStream
	layout bus.Layout
	// settings returns the settings that determine which events begin turns.
	settings func() *hint.Settings
	log      *slog.Logger
	wake     chan struct{}
	// source is what the store was found complete with; the zero value before that.
	source store.Source
	looked time.Time // when the stream was last compared with it
	// fleet is which versions take events.
	fleet   *fleet
	vouched voucher
}

// rebuildCheck is the usual interval between checks for lost sessions.
const rebuildCheck = 5 * time.Second

// rebuildPauses bounds the pause after failures, in checks: a minute.
const rebuildPauses = 12

// anewChecks is how often a stream that was made anew is looked for, in checks: once a
// minute.
const anewChecks = 12

func newRebuilder(js jetstream.JetStream, layout bus.Layout, settings func() *hint.Settings, log *slog.Logger) *rebuilder {
	return &rebuilder{fleet: newFleet(rebuildCheck, log), js: js, layout: layout, settings: settings, log: log, wake: make(chan struct{}, 1)}
}

// lost reports a lost session. It does not block.
func (r *rebuilder) lost(string) {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// watch rebuilds lost sessions until ctx ends. check is the longest interval
// between two checks.
func (r *rebuilder) watch(ctx context.Context, sessions store.Store, check time.Duration) {
	pause := check
	known, quiet := false, false
	select { // what is replayed before it would be in doubt
	case <-r.fleet.looked:
	case <-ctx.Done():
	}
	for {
		known = known && !r.anew(ctx, anewChecks*check)
		ok, err := r.whole(ctx, sessions, known)
		known = known || ok
		if err == nil {
			if known {
				err = r.vouch(ctx, sessions, check)
			}
			err = errors.Join(err, r.single(ctx, sessions))
		}
		switch {
		case err == nil:
			pause, quiet = check, false
		case ctx.Err() == nil:
			// It creates a bucket that was deleted, and so lets the next attempt fill it.
			_ = sessions.Check(ctx)
			if !quiet {
				quiet = true // log once
				r.log.Warn("session recovery failed, will retry", "error", err)
			}
			pause = min(2*pause, rebuildPauses*check)
		}
		if !r.wait(ctx, pause, err != nil) {
			return
		}
	}
}

// wait waits for a lost session, but for no more than a pause, and reports whether ctx
// goes on. After a failure it waits for the whole pause: whatever is lost meanwhile
// would fail as well.
func (r *rebuilder) wait(ctx context.Context, pause time.Duration, failed bool) bool {
	wake := r.wake
	if failed {
		wake = nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-timer.C:
	}
	return true
}

// begin marks a new store as complete if no event has been delivered yet, so
// that later events need no replay.
func (r *rebuilder) begin(ctx context.Context, sessions store.Store) error {
	place, err := events.Where(ctx, r.js, r.layout)
	if err != nil || place.Delivered > 0 {
		return err
	}
	ok, err := r.whole(ctx, sessions, false)
	if ok {
		// An older process that had been here would have begun the store.
		r.vouched.began(view{known: true}, place)
	}
	return err
}

// anew reports whether the stream was made anew since the store was found complete. It
// asks the server after a pause.
func (r *rebuilder) anew(ctx context.Context, pause time.Duration) bool {
	if time.Since(r.looked) < pause {
		return false
	}
	place, err := events.Where(ctx, r.js, r.layout)
	if err != nil {
		return false // the server is away, or the stream is being made
	}
	r.looked = time.Now()
	return !place.Created.Equal(r.source.Created)
}

// whole makes sure that the store holds all processed events, and reports
// whether it does. For a store known to be complete only its source is checked.
func (r *rebuilder) whole(ctx context.Context, sessions store.Store, known bool) (bool, error) {
	source, err := sessions.Source(ctx)
	if err == nil && known && source.Stream == r.layout.Stream && source.Fold >= store.FoldVersion {
		return true, nil
	}
	place, err := events.Where(ctx, r.js, r.layout)
	if err != nil {
		return false, err
	}
	want := store.Source{Stream: r.layout.Stream, Created: place.Created, Fold: store.FoldVersion}
	same := func(s store.Source) bool {
		return s.Stream == want.Stream && s.Created.Equal(want.Created) && s.Fold >= want.Fold
	}
	if same(source) {
		r.found(want)
		return true, nil
	}
	rebuild, ok, err := sessions.Rebuilding(ctx)
	if err != nil || !ok {
		return false, err
	}
	defer rebuild.Release()
	if source, err = sessions.Source(ctx); err == nil && same(source) {
		r.found(want)
		return true, nil
	}
	// Read again: events delivered meanwhile may be lost as well.
	if place, err = events.Where(ctx, r.js, r.layout); err != nil {
		return false, err
	}
	if before := cmp.Or(source, r.source); before.Stream == want.Stream && !before.Created.Equal(want.Created) {
		r.log.Warn("event stream was made anew, earlier events are lost", "stream", want.Stream,
			"created", want.Created, "earlier_created", before.Created, "last_sequence", place.Last)
	}
	// Compare Delivered, not Applied: events after a pending one may be processed
	// too.
	if place.Delivered > 0 {
		// The store lacks events that were processed, or what an earlier version did not
		// make of them.
		r.log.Warn("replaying the stream into the session store", "reason", replayReason(source, r.source, want), "from_sequence", place.First, "until_sequence", place.Delivered,
			"fold", source.Fold, "own_fold", store.FoldVersion)
		done, err := r.reapply(ctx, sessions, events.Range{Until: place.Delivered})
		if err != nil {
			return false, err
		}
		for _, session := range done.Sessions {
			if err := sessions.MarkLost(ctx, subjects.Name(session)); err != nil {
				return false, err
			}
		}
	}
	want.Through = place.Applied
	if err := rebuild.Finish(ctx, want); err != nil {
		return true, err
	}
	r.found(want)
	r.vouched.began(r.fleet.view(), place)
	return true, nil
}

// replayReason returns why a store with one source is replayed to have another. known is
// what this process found it complete with, the zero value if it did not.
func replayReason(source, known, want store.Source) string {
	switch {
	case source.Stream == "" && known.Stream != "":
		return "the store lost its sessions"
	case source.Stream == "":
		return "the store is new, or lost its sessions"
	case !source.Created.Equal(want.Created):
		return "the stream was made anew"
	}
	return "an earlier version made the sessions"
}

// found notes what the store is complete with.
func (r *rebuilder) found(source store.Source) { r.source, r.looked = source, time.Now() }

// single rebuilds sessions that were lost one by one.
func (r *rebuilder) single(ctx context.Context, sessions store.Store) error {
	if losses, err := sessions.Lost(ctx); err != nil || len(losses) == 0 {
		return err
	}
	rebuild, ok, err := sessions.Rebuilding(ctx)
	if err != nil || !ok {
		return err
	}
	defer rebuild.Release()
	losses, err := sessions.Lost(ctx)
	if err != nil {
		return err
	}
	byToken := map[string][]store.Loss{}
	for _, loss := range losses {
		byToken[loss.Token] = append(byToken[loss.Token], loss)
	}
	if len(byToken) > fewSessions {
		return r.many(ctx, sessions, byToken)
	}
	var errs []error
	for token, losses := range byToken {
		if err := r.one(ctx, sessions, token); err != nil {
			errs = append(errs, fmt.Errorf("session %s: %w", token, err))
			continue
		}
		for _, loss := range losses {
			errs = append(errs, sessions.Recovered(ctx, loss))
		}
	}
	return errors.Join(errs...)
}

// fewSessions is how many sessions are rebuilt by reading the stream once for each. To
// begin such a read takes some milliseconds, as reading hundreds of events does.
const fewSessions = 32

// many rebuilds sessions by reading the whole stream once.
func (r *rebuilder) many(ctx context.Context, sessions store.Store, byToken map[string][]store.Loss) error {
	place, err := events.Where(ctx, r.js, r.layout)
	if err != nil {
		return err
	}
	only := onlyTokens{sessions, map[string]bool{}}
	for token := range byToken {
		only.tokens[token] = true
	}
	done, err := r.reapply(ctx, only, events.Range{Until: place.End()})
	if err != nil {
		return err
	}
	for _, session := range done.Sessions {
		delete(byToken, subjects.Name(session))
	}
	var errs []error
	if done.Failed > 0 {
		errs = append(errs, fmt.Errorf("events that failed in the replay: %d", done.Failed))
	}
	for _, losses := range byToken {
		for _, loss := range losses {
			errs = append(errs, sessions.Recovered(ctx, loss))
		}
	}
	return errors.Join(errs...)
}

// one rebuilds a session.
func (r *rebuilder) one(ctx context.Context, sessions store.Store, token string) error {
	session, err := subjects.DecodeToken(token)
	if err != nil || subjects.MayBeShortened(token) {
		session = "" // replay all events
	}
	place, err := events.Where(ctx, r.js, r.layout)
	if err != nil {
		return err
	}
	done, err := r.reapply(ctx, onlyTokens{sessions, map[string]bool{token: true}}, events.Range{Session: session, Until: place.End()})
	if err == nil && done.Failed > 0 {
		err = fmt.Errorf("events that failed in the replay: %d", done.Failed)
	}
	return err
}

func (r *rebuilder) reapply(ctx context.Context, sessions store.Applier, part events.Range) (events.Reapplied, error) {
	began, said := time.Now(), time.Now()
	done, err := events.Reapply(ctx, events.ReapplyOptions[store.Fact]{
		JS: r.js, Layout: r.layout, Range: part, Handler: EventHandler(sessions, r.settings), Log: r.log,
		Progress: func(done, total int) {
			if time.Since(said) > 5*time.Second {
				said = time.Now()
				r.log.Info("replaying events", "events", done, "total", total)
			}
		},
	})
	if err != nil {
		return done, err
	}
	r.log.Info("events replayed", "events", done.Events, "failed", done.Failed, "took_ms", time.Since(began).Milliseconds())
	return done, nil
}

// onlyTokens applies the facts of some sessions.
type onlyTokens struct {
	store.Applier
	tokens map[string]bool
}

// Apply implements [store.Applier].
func (o onlyTokens) Apply(ctx context.Context, facts []store.Fact) error {
	session, err := store.SessionOf(facts)
	if err != nil || !o.tokens[subjects.Name(session)] {
		return err
	}
	return o.Applier.Apply(ctx, facts)
}
