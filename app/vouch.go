package app

import (
	"context"
	"sync"
	"time"

	"intenthint/internal/events"
	"intenthint/store"
	"intenthint/subjects"
)

// voucher records in the store's source up to which event no process of an older fold
// has had a part. Sessions that had events after that are made again.
type voucher struct {
	mu sync.Mutex // guards what follows
	// suspect is true while an older process may have applied events since the recorded
	// one. begun reports whether the first look has decided it.
	suspect, begun bool
	// mended is up to which event sessions were made again while an older process runs.
	mended uint64
	// next is recorded vouchLag after it was read.
	next   uint64
	nextAt time.Time
}

// began notes that the sessions are complete up to a place that was read after a look.
func (w *voucher) began(v view, place events.Place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v.known && !v.older {
		w.begun, w.suspect, w.next, w.nextAt = true, false, place.Applied, time.Now()
	}
}

// vouchChecks is how many checks the recorded event is behind: an older process takes
// events for some seconds before it answers requests, and is seen.
const vouchChecks = 6

// vouchLastTime bounds what a stop spends on it.
const vouchLastTime = 2 * time.Second

// vouch makes sessions again that processes of an older fold had a part in, and records
// up to which event there are none.
func (r *rebuilder) vouch(ctx context.Context, sessions store.Store, check time.Duration) error {
	v := r.fleet.view()
	if !v.known || v.newer {
		return nil // a newer process vouches, or nobody can
	}
	w := &r.vouched
	w.mu.Lock()
	defer w.mu.Unlock()
	source, err := sessions.Source(ctx)
	if err != nil {
		return err
	}
	place, err := events.Where(ctx, r.js, r.layout)
	if err != nil {
		return err
	}
	if !source.Created.Equal(place.Created) {
		return nil // the stream was made anew, the next start replays it
	}
	if !w.begun {
		w.begun, w.suspect, w.next, w.nextAt = true, v.first, place.Applied, time.Now()
	}
	switch {
	case v.older:
		w.suspect = true
		if err := r.mark(ctx, sessions, max(source.Through, w.mended), place.Applied); err != nil {
			return err
		}
		w.mended = place.Applied
		return nil
	case w.suspect:
		if err := r.mark(ctx, sessions, source.Through, place.Applied); err != nil {
			return err
		}
		w.suspect, w.mended, w.next, w.nextAt = false, 0, place.Applied, time.Now()
		return r.record(ctx, sessions, source, place.Applied)
	case time.Since(w.nextAt) < vouchChecks*check:
		return nil
	}
	through := w.next
	w.next, w.nextAt = place.Applied, time.Now()
	return r.record(ctx, sessions, source, through)
}

// record writes the source if it says more than the present one, or another fold.
func (r *rebuilder) record(ctx context.Context, sessions store.Store, source store.Source, through uint64) error {
	if source.Fold > store.FoldVersion {
		r.log.Warn("sessions of a later version continued, what it records in addition is left out", "fold", source.Fold, "own_fold", store.FoldVersion)
	} else if through <= source.Through {
		return nil
	}
	source.Fold, source.Through = store.FoldVersion, max(through, source.Through)
	return sessions.SetSource(ctx, source)
}

// vouchLast records all events at the end of the last process, so that the next start
// has nothing to make again.
func (r *rebuilder) vouchLast(ctx context.Context, sessions store.Store) {
	ctx, cancel := context.WithTimeout(ctx, vouchLastTime)
	defer cancel()
	w := &r.vouched
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := r.fleet.view(); !v.known || v.older || v.newer || w.suspect || !w.begun || !r.js.Conn().IsConnected() {
		return
	}
	place, err := events.Where(ctx, r.js, r.layout)
	if err != nil || place.Taken {
		return
	}
	source, err := sessions.Source(ctx)
	if err == nil && source.Stream == r.layout.Stream && source.Created.Equal(place.Created) {
		err = r.record(ctx, sessions, source, place.Applied)
	}
	if err != nil {
		r.log.Debug("end of the events not recorded", "error", err)
	}
}

// mark marks the sessions as lost that have events in a part of the stream.
func (r *rebuilder) mark(ctx context.Context, sessions store.Store, after, until uint64) error {
	if until <= after {
		return nil
	}
	found := &tokens{found: map[string]bool{}}
	_, err := events.Reapply(ctx, events.ReapplyOptions[store.Fact]{
		JS: r.js, Layout: r.layout, Range: events.Range{After: after, Until: until}, Handler: EventHandler(found, r.settings), Log: r.log,
	})
	if err != nil {
		return err
	}
	for token := range found.found {
		if err := sessions.MarkLost(ctx, token); err != nil {
			return err
		}
	}
	return nil
}

// tokens is a [store.Applier] that applies nothing, and notes the sessions.
type tokens struct {
	mu    sync.Mutex
	found map[string]bool
}

// Apply implements [store.Applier].
func (t *tokens) Apply(_ context.Context, facts []store.Fact) error {
	session, err := store.SessionOf(facts)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found[subjects.Name(session)] = true
	return nil
}

// Check implements [store.Applier].
func (*tokens) Check(context.Context) error { return nil }
