package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/retry"
)

const (
	// lookPause is how often [Bucket.Watch] checks that the bucket is still the one it
	// watches, and that no change was missed.
	lookPause = time.Second
	// maxEntries bounds the entries that are passed on together: a new copy is written
	// in large batches, without delaying readers for long.
	maxEntries = 200
)

// followRetry bounds the pauses between attempts to follow a bucket: each reads it
// from the beginning.
var followRetry = retry.Backoff{First: time.Second, Max: 30 * time.Second}

// Watch holds the callbacks of [Bucket.Watch].
type Watch struct {
	// Begin receives the identity of the bucket and its last revision. A recreated
	// bucket has another identity. Begin returns the revision up to which all entries
	// are known, 0 for none. It is called again after a lost connection, and whenever
	// changes were missed.
	Begin func(bucket string, last uint64) (known uint64, err error)
	// Take receives entries in the order of their revisions, including deletions. The
	// list may be empty. complete is true once Take has received all entries that
	// existed when Begin was called.
	Take func(entries []jetstream.KeyValueEntry, complete bool) error
	// Held, if set, returns how many keys the watcher knows, deleted ones included. It
	// is called every second, and [ErrPurged] ends the watch if the bucket cannot hold
	// as many.
	Held func() (keys uint64, err error)
}

// ErrPurged reports a bucket with fewer messages than its watcher knows keys. A deleted
// key leaves a message, so entries were removed without a trace.
var ErrPurged = errors.New("entries were removed without a trace, as by a purge of the stream")

// errMissed reports that the watch may have missed changes. The client would notice
// only many seconds later, when heartbeats of the server are missing.
var errMissed = errors.New("changes missed")

// Watch passes all entries and then each change to w, until ctx ends or an error occurs.
func (b *Bucket) Watch(ctx context.Context, w Watch) error {
	back := b.js.Conn().StatusChanged(nats.CONNECTED)
	defer b.js.Conn().RemoveStatusListener(back)
	for {
		if err := b.watch(ctx, w, back); !errors.Is(err, errMissed) {
			return err
		}
	}
}

func (b *Bucket) watch(ctx context.Context, w Watch, back <-chan nats.Status) error {
	return b.Use(ctx, func(kv jetstream.KeyValue) error {
		begun, err := b.State(ctx)
		if err != nil {
			return err
		}
		known, err := w.Begin(fmt.Sprintf("%s@%d", b.Name(), begun.Made.UnixNano()), begun.Last)
		if err != nil {
			return err
		}
		var options []jetstream.WatchOpt
		if known > 0 {
			options = append(options, jetstream.ResumeFromRevision(known+1))
		}
		watcher, err := kv.WatchAll(ctx, options...)
		if err != nil {
			return err
		}
		defer func() { _ = watcher.Stop() }()
		look := time.NewTicker(lookPause)
		defer look.Stop()
		taken, due, complete := begun.Last, uint64(0), false
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case _, open := <-back:
				if !open {
					return nats.ErrConnectionClosed
				}
				return errMissed
			case <-look.C:
				if complete && taken < due && len(watcher.Updates()) == 0 { // a change from before the last pause has not arrived
					return errMissed
				}
				if due, err = b.look(ctx, w, begun.Made, taken); err != nil {
					return err
				}
			case entry, open := <-watcher.Updates():
				if !open {
					return ErrAway
				}
				entries, end := gather(entry, watcher.Updates())
				if complete = complete || end; len(entries) > 0 {
					taken = max(taken, entries[len(entries)-1].Revision())
				}
				if err := w.Take(entries, complete); err != nil {
					return err
				}
			}
		}
	})
}

// gather collects a first entry and the entries that are already available. A nil
// entry marks the end of the initial entries.
func gather(first jetstream.KeyValueEntry, more <-chan jetstream.KeyValueEntry) (entries []jetstream.KeyValueEntry, end bool) {
	for entry := first; ; {
		if entry == nil {
			end = true
		} else {
			entries = append(entries, entry)
		}
		if len(entries) == maxEntries {
			return entries, end
		}
		select {
		case next, open := <-more:
			if !open {
				return entries, end
			}
			entry = next
		default:
			return entries, end
		}
	}
}

// look returns the last revision of the bucket, or 0 if the server does not answer. It
// returns an error if the bucket is gone, was not created at the given time, or cannot
// hold what w has taken, up to the given revision; and those of w.
func (b *Bucket) look(ctx context.Context, w Watch, made time.Time, taken uint64) (last uint64, err error) {
	// The keys are counted before the messages: a key that is known now has a message
	// then, whatever other processes change meanwhile.
	held := uint64(0)
	if w.Held != nil {
		if held, err = w.Held(); err != nil {
			return 0, err
		}
	}
	now, err := b.State(ctx)
	switch {
	case isGone(err) && !errors.Is(err, context.DeadlineExceeded) || err == nil && !now.Made.Equal(made):
		return 0, fmt.Errorf("%s: %w", b.config.Bucket, jetstream.ErrBucketNotFound)
	case err == nil && now.Last >= taken && now.Messages < held: // else it is the state of a replica that is behind
		return 0, ErrPurged
	}
	return now.Last, nil // the zero state if the server does not answer
}

// Follow keeps a copy of a bucket until ctx ends. begin makes an empty copy. take
// receives all entries, then each change, including deletions. settled is called after
// the initial entries, and after later changes. If the bucket was unreachable or
// recreated, or changes were missed, a new copy is begun; until it is complete the last
// copy stays in use.
func (b *Bucket) Follow(ctx context.Context, begin func() (take func(jetstream.KeyValueEntry), settled func()), log *slog.Logger) {
	var take func(jetstream.KeyValueEntry)
	var settled func()
	failures := 0
	w := Watch{
		Begin: func(string, uint64) (uint64, error) {
			take, settled = begin()
			return 0, nil
		},
		Take: func(entries []jetstream.KeyValueEntry, complete bool) error {
			for _, entry := range entries {
				take(entry)
			}
			if complete {
				failures = 0
				settled()
			}
			return nil
		},
	}
	for {
		err := b.Watch(ctx, w)
		if ctx.Err() != nil {
			return
		}
		failures++
		wait := followRetry.Pause(failures)
		log.Warn("bucket not followed, will retry", "bucket", b.Name(), "retry_ms", wait.Milliseconds(), "error", err)
		if retry.Sleep(ctx, wait) != nil {
			return
		}
	}
}
