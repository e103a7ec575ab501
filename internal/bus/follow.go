package bus

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookPause is how often [KV.Follow] checks that the bucket is still the one
	// it follows.
	lookPause = 5 * time.Second
	// firstPause and maxFollowPause bound the pause between attempts to follow a
	// bucket.
	firstPause     = time.Second
	maxFollowPause = 30 * time.Second
)

// Follow keeps a copy of a bucket until ctx ends. begin makes an empty copy.
// take receives all entries, then each change, including deletions. settled is
// called after the initial entries, and whenever no change is waiting. If the
// bucket was unreachable or recreated, a new copy is begun; until it is
// complete the last copy stays in use.
func (b *KV) Follow(ctx context.Context, begin func() (take func(jetstream.KeyValueEntry), settled func()), log *slog.Logger) {
	for wait := firstPause; ctx.Err() == nil; wait = min(2*wait, maxFollowPause) {
		take, settled := begin()
		err := b.follow(ctx, take, func() {
			wait = firstPause
			settled()
		})
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

func (b *KV) follow(ctx context.Context, take func(jetstream.KeyValueEntry), settled func()) error {
	return b.Use(ctx, func(kv jetstream.KeyValue) error {
		made, _, err := b.State(ctx)
		if err != nil {
			return err
		}
		watcher, err := kv.WatchAll(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = watcher.Stop() }()
		tick := time.NewTicker(lookPause)
		defer tick.Stop()
		complete := false
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
				if err := b.Same(ctx, made); err != nil {
					return err
				}
			case entry, open := <-watcher.Updates():
				switch {
				case !open:
					return ErrBucketAway
				case entry == nil:
					complete = true
				default:
					take(entry)
				}
				if complete && len(watcher.Updates()) == 0 {
					settled()
				}
			}
		}
	})
}
