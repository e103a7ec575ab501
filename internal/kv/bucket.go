package kv

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
)

// awayPause is how long an unreachable bucket is not retried. A stream that is
// recreated at once may lose its files to the removal of the old one.
const awayPause = time.Second

// Bucket is a key-value bucket of JSON documents that is opened, or created, when
// it is needed. It is safe for concurrent use.
type Bucket struct {
	js     jetstream.JetStream
	config jetstream.KeyValueConfig

	locks *Locks

	lock  chan struct{} // guards what follows
	kv    jetstream.KeyValue
	after time.Time // not opened before this time, because of cause
	cause error
}

// New returns a Bucket without touching the bucket, see [Bucket.Open].
func New(js jetstream.JetStream, config jetstream.KeyValueConfig) *Bucket {
	return &Bucket{js: js, config: config, locks: NewLocks(), lock: make(chan struct{}, 1)}
}

// Name returns the bucket's name.
func (b *Bucket) Name() string { return b.config.Bucket }

// Open opens the bucket and creates a missing one. Otherwise the first use does
// so.
func (b *Bucket) Open(ctx context.Context) error {
	_, err := b.open(ctx)
	return err
}

func (b *Bucket) open(ctx context.Context) (jetstream.KeyValue, error) {
	end, err := acquire(ctx, b.lock)
	if err != nil {
		return nil, err
	}
	defer end()
	if b.kv != nil {
		return b.kv, nil
	}
	if time.Now().Before(b.after) {
		return nil, fmt.Errorf("%w: %w", ErrAway, b.cause)
	}
	kv, err := Open(ctx, b.js, b.config)
	if err != nil {
		b.after, b.cause = time.Now().Add(awayPause), err
		return nil, err
	}
	b.kv = kv
	return kv, nil
}

// Use calls f with the open bucket. When the bucket turns out to be gone, a later
// call opens it again. The error names the bucket.
func (b *Bucket) Use(ctx context.Context, f func(kv jetstream.KeyValue) error) error {
	kv, err := b.open(ctx)
	if err != nil {
		return err
	}
	if err = f(kv); err == nil {
		return nil
	}
	if isGone(err) {
		// While another call opens the bucket, the lock may be held for longer than ctx
		// lasts. A later call then finds the bucket gone.
		if end, late := acquire(ctx, b.lock); late == nil {
			if b.kv == kv {
				b.kv, b.after, b.cause = nil, time.Now().Add(awayPause), err
			}
			end()
		}
	}
	return fmt.Errorf("%s: %w", b.config.Bucket, err)
}

// State is the state of a bucket.
type State struct {
	// Made is when the bucket was created. One that was deleted and recreated has
	// another time.
	Made time.Time
	// Last is the last revision.
	Last uint64
	// Messages is the number of messages: at least one for each key, also for a
	// deleted one.
	Messages uint64
}

// State returns the state of the bucket, as its leader knows it.
func (b *Bucket) State(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := b.js.Stream(ctx, bus.BucketStream(b.config.Bucket))
	if err != nil {
		return State{}, err
	}
	info := stream.CachedInfo()
	if err := bus.RequireLeader(info.Cluster); err != nil {
		return State{}, err
	}
	return State{Made: info.Created, Last: info.State.LastSeq, Messages: info.State.Msgs}, nil
}

// Each calls yield with the entries of all keys that match a pattern, in the order
// of their last change. An error of yield ends it.
func (b *Bucket) Each(ctx context.Context, pattern string, yield func(jetstream.KeyValueEntry) error) error {
	return b.Use(ctx, func(kv jetstream.KeyValue) error {
		watcher, err := kv.Watch(ctx, pattern, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		defer func() { _ = watcher.Stop() }()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case entry, open := <-watcher.Updates():
				if !open {
					return ErrAway
				}
				if entry == nil {
					return nil // no more entries
				}
				if err := yield(entry); err != nil {
					return err
				}
			}
		}
	})
}
