package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookPause is how often [KV.Watch] looks whether the bucket is the one that it
	// watches, and whether it was told all.
	lookPause = time.Second
	// maxEntries bounds the entries that are taken together: a copy that begins
	// writes many at once, and what is read of it meanwhile is not held up for long.
	maxEntries = 200
	// firstPause and maxFollowPause bound the pause between attempts to follow a
	// bucket.
	firstPause     = time.Second
	maxFollowPause = 30 * time.Second
)

// Watch is who is told what is in a bucket.
type Watch struct {
	// Begin is given the identity of the bucket, which one that is made again does not
	// have, and its last revision. It returns the revision up to which all is known,
	// 0 for nothing. It is called again after the connection was lost, and whenever
	// something was missed.
	Begin func(bucket string, last uint64) (known uint64, err error)
	// Take is given entries in the order of their revisions, deletions too, and maybe
	// none; complete is true once it was given all that was there when Begin was
	// called.
	Take func(entries []jetstream.KeyValueEntry, complete bool) error
	// Check is called every second, and ends the watch with its error; nil for none.
	Check func() error
}

// errMissed reports that the watch may have missed something: the client would
// notice only when heartbeats of the server are missing, after many seconds.
var errMissed = errors.New("changes missed")

// Watch tells w of all entries and each change, until ctx or the first error ends it.
func (b *KV) Watch(ctx context.Context, w Watch) error {
	back := b.js.Conn().StatusChanged(nats.CONNECTED)
	defer b.js.Conn().RemoveStatusListener(back)
	for {
		if err := b.watch(ctx, w, back); !errors.Is(err, errMissed) {
			return err
		}
	}
}

func (b *KV) watch(ctx context.Context, w Watch, back <-chan nats.Status) error {
	return b.Use(ctx, func(kv jetstream.KeyValue) error {
		made, last, err := b.State(ctx)
		if err != nil {
			return err
		}
		known, err := w.Begin(fmt.Sprintf("%s@%d", b.Name(), made.UnixNano()), last)
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
		taken, due, complete := last, uint64(0), false
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
				if complete && taken < due && len(watcher.Updates()) == 0 { // it was there a pause ago
					return errMissed
				}
				if due, err = b.lastOf(ctx, made); err != nil {
					return err
				}
				if w.Check == nil {
					continue
				}
				if err := w.Check(); err != nil {
					return err
				}
			case entry, open := <-watcher.Updates():
				if !open {
					return ErrBucketAway
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

// gather takes what is there already together with a first entry. A nil entry
// ends what was there at the beginning.
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

// lastOf returns the last revision of the bucket that was made at a moment, 0 when
// the server does not tell.
func (b *KV) lastOf(ctx context.Context, made time.Time) (uint64, error) {
	now, last, err := b.State(ctx)
	switch {
	case isGone(err) && !errors.Is(err, context.DeadlineExceeded) || err == nil && !now.Equal(made):
		return 0, fmt.Errorf("%s: %w", b.config.Bucket, jetstream.ErrBucketNotFound)
	case err != nil:
		return 0, nil //nolint:nilerr // it does not answer
	}
	return last, nil
}

// Follow keeps a copy of a bucket until ctx ends. begin makes an empty copy; take is
// given all entries, then each change, deletions too; settled is called after those
// that were there, and after later ones. When the bucket was away, was made again, or
// something was missed, a new copy is begun; until it is complete the last one stands.
func (b *KV) Follow(ctx context.Context, begin func() (take func(jetstream.KeyValueEntry), settled func()), log *slog.Logger) {
	var take func(jetstream.KeyValueEntry)
	var settled func()
	wait := firstPause
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
				wait = firstPause
				settled()
			}
			return nil
		},
	}
	for ; ctx.Err() == nil; wait = min(2*wait, maxFollowPause) {
		err := b.Watch(ctx, w)
		if ctx.Err() != nil {
			return
		}
		log.Warn("bucket not followed, will retry", "bucket", b.Name(), "retry_ms", wait.Milliseconds(), "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
