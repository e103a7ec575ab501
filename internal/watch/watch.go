// Package watch follows a file or a directory: it debounces the notifications
// of the operating system, and polls for the changes that they miss.
package watch

import (
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime is the debounce time, how long a state must last before it is
	// reported: not every editor replaces a file in one step.
	settleTime = 100 * time.Millisecond
	// settleAtMost is after how long a state is reported even if it never settles.
	settleAtMost = time.Second
	// pollEvery is the poll interval, for changes without notifications: network
	// file systems, a moved parent directory.
	pollEvery = 5 * time.Second
	// pollAlone is the poll interval if there are no notifications at all.
	pollAlone = time.Second
)

// Watch follows what is at a path. S is the state that matters to the caller;
// equal states are not a change.
type Watch[S interface{ Equal(S) bool }] struct {
	// Path is a file or a directory. It may be a symbolic link, lead through
	// symbolic links like the files of a mounted ConfigMap, and be missing at
	// times.
	Path string
	// Look returns the current state.
	Look func() S
	// Changed receives each state that differs from the one before it. Its
	// calls do not overlap with each other or with those of Look.
	Changed func(S)
	Log     *slog.Logger
	// Poll is the longest time without a call of Look; 0 means 5 s, or 1 s if the
	// operating system gives no notifications.
	Poll time.Duration
}

// Run follows the path until ctx ends. last is the state that the caller
// already knows; a change since then is reported like any other.
func (w Watch[S]) Run(ctx context.Context, last S) {
	poll := w.Poll
	n, err := newNotifier(w.Path)
	if err != nil {
		w.Log.WarnContext(ctx, "no file notifications, polling instead", slog.String("path", w.Path), slog.Any("error", err))
		if poll == 0 {
			poll = pollAlone
		}
		w.loop(ctx, poll, nil, nil, nil, last)
		return
	}
	defer n.close()
	look := w.Look
	w.Look = func() S {
		// A later change causes a notification, and Look sees earlier ones.
		n.arm()
		return look()
	}
	if poll == 0 {
		poll = pollEvery
	}
	w.loop(ctx, poll, n.watcher.Events, n.concerns, n.watcher.Errors, last)
}

// loop follows events that may concern the path, an error when notifications were
// lost, and the poll.
func (w Watch[S]) loop(ctx context.Context, poll time.Duration, events <-chan fsnotify.Event, concerns func(fsnotify.Event) bool, lost <-chan error, last S) {
	var (
		ticker    = time.NewTicker(poll)
		settle    = time.After(settleTime)
		candidate *S        // the last observed state, while it has not settled
		since     time.Time // when the first candidate was found
	)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-lost: //nolint:errcheck // Whatever it is, notifications may have been lost.
		case event := <-events:
			if !concerns(event) {
				continue
			}
		case <-settle:
			now := w.Look()
			switch {
			case now.Equal(last):
				settle, candidate = nil, nil
			case candidate != nil && (now.Equal(*candidate) || time.Since(since) >= settleAtMost):
				settle, candidate, last = nil, nil, now
				w.Changed(now)
			default:
				if candidate == nil {
					since = time.Now()
				}
				settle, candidate = time.After(settleTime), &now
			}
			continue
		}
		// Do not restart a running timer: in a busy directory there is always another
		// event.
		if settle == nil {
			settle = time.After(settleTime)
		}
	}
}
