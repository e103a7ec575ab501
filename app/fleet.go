package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"intenthint/internal/bus"
	"intenthint/store"
)

// fleet is which versions of the fold ([store.FoldVersion]) take events, as far as this
// process sees. While a process of a newer fold runs, this one leaves it the events.
// See docs/decisions/0034-two-versions-at-once.md.
type fleet struct {
	// self is the id of this process's service, set before watch begins.
	self string
	// fold is the version of this process's fold.
	fold int
	// leave makes this process take no events, or take them again.
	leave func(bool)
	// changed is called after a look that differs from the one before.
	changed func()
	// check is the interval between two looks.
	check time.Duration
	log   *slog.Logger

	mu   sync.Mutex
	last view
	// at is the time of the last look that succeeded.
	at time.Time
	// met is when each process of an older fold was first seen, without a gap since.
	met map[string]time.Time
	// newer is when one of a newer fold was last seen.
	newer time.Time
	// looked is closed after the first look.
	looked     chan struct{}
	firstLooks sync.Once
}

// view is what a look at the fleet has shown.
type view struct {
	// known is false if this process does not see itself: it lacks a right, or NATS is away.
	known bool
	// older reports whether a process of an older fold may take events, newer whether one
	// of a newer fold does.
	older, newer bool
	// first reports whether no process of this fold has begun before this one.
	first bool
}

// foldKey is where a process's metadata has the version of its fold.
const foldKey = "fold"

// guardedFold is the first fold whose processes leave events to newer ones.
const guardedFold = 2

const (
	// settledLooks is after how many looks without a gap an older process has seen this
	// one, and has left it the events.
	settledLooks = 5
	// goneLooks is for how many looks a newer process may be missing before its events are
	// taken: it may be paused, or be restarted.
	goneLooks = 3
)

// look is the longest time from one look to the next.
func (f *fleet) look() time.Duration { return f.check + bus.InstancesTime }

// gap is the time without a look after which an older process may have taken events. It
// is shorter than a newer one may be missing, by more than a look.
func (f *fleet) gap() time.Duration { return f.look() + time.Second }

func newFleet(check time.Duration, log *slog.Logger) *fleet {
	return &fleet{fold: store.FoldVersion, check: check, log: log, leave: func(bool) {}, changed: func() {}, looked: make(chan struct{})}
}

// watch looks at the fleet until ctx ends.
func (f *fleet) watch(ctx context.Context, instances func(context.Context) ([]bus.Instance, error)) {
	defer f.firstLooks.Do(func() { close(f.looked) })
	for {
		all, err := instances(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, bus.ErrDenied) {
			f.log.Warn("processes of other versions not seen, run `consumer sessions rebuild` after an upgrade", "error", err)
			return
		}
		f.see(all, time.Now())
		f.firstLooks.Do(func() { close(f.looked) })
		select {
		case <-ctx.Done():
			return
		case <-time.After(f.check):
		}
	}
}

// see takes in who runs.
func (f *fleet) see(all []bus.Instance, now time.Time) {
	f.mu.Lock()
	v := f.judge(all, now)
	was := f.last
	f.last = v
	f.mu.Unlock()
	f.leave(v.newer)
	if v != was {
		f.changed()
	}
	switch {
	case v.newer && !was.newer:
		f.log.Info("events left to processes of a later version")
	case was.newer && !v.newer:
		f.log.Info("events taken again, no process of a later version runs")
	}
	if v.older && !was.older {
		f.log.Warn("a process of an earlier version takes events, sessions are completed after it")
	}
}

func (f *fleet) judge(all []bus.Instance, now time.Time) view {
	mine := slices.IndexFunc(all, func(i bus.Instance) bool { return i.ID == f.self })
	if mine < 0 {
		// Without a look an older process may have taken events.
		f.met = nil
		return view{newer: f.newerRuns(now)}
	}
	if now.Sub(f.at) > f.gap() {
		f.met = nil // this process was paused
	}
	f.at = now
	v := view{known: true, first: true}
	met := map[string]time.Time{}
	for _, i := range all {
		switch fold := foldOf(i); {
		case fold > f.fold:
			f.newer = now
		case fold < f.fold:
			met[i.ID] = now
			if at, ok := f.met[i.ID]; ok {
				met[i.ID] = at
			}
			v.older = v.older || fold < guardedFold || now.Sub(met[i.ID]) < settledLooks*f.look()
		case i.ID != f.self && earlier(i, all[mine]):
			v.first = false
		}
	}
	f.met = met
	v.newer = f.newerRuns(now)
	return v
}

func (f *fleet) newerRuns(now time.Time) bool {
	return !f.newer.IsZero() && now.Sub(f.newer) < goneLooks*f.look()
}

// foldOf returns the version of a process's fold; 1 if it does not say.
func foldOf(i bus.Instance) int {
	if n, err := strconv.Atoi(i.Metadata[foldKey]); err == nil {
		return n
	}
	return 1
}

// earlier reports whether a began before b. Every process has the same answer.
func earlier(a, b bus.Instance) bool {
	return a.Started.Before(b.Started) || a.Started.Equal(b.Started) && a.ID < b.ID
}

func (f *fleet) view() view {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}
