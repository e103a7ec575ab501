package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/retry"
)

var (
	// ErrBucketAway reports a bucket that was unreachable a moment ago.
	ErrBucketAway = errors.New("bucket away")
	// errContended reports a key that others changed at every attempt.
	errContended = errors.New("key changed by others at every attempt")
)

const (
	// bucketPause is how long an unreachable bucket is not retried. A stream that
	// is recreated at once may lose its files to the removal of the old one.
	bucketPause = time.Second
	// maxAttempts bounds the attempts to change one key. In a burst all processes
	// change the same keys, and each success makes the other attempts fail.
	maxAttempts = 200
)

// competeRetry bounds the pauses between attempts to change one key: a change takes
// about a millisecond, and replicas may be behind for some.
var competeRetry = retry.Backoff{First: 2 * time.Millisecond, Max: 16 * time.Millisecond}

// KV is a key-value bucket of JSON documents that is opened, or created, when
// it is needed. It is safe for concurrent use.
type KV struct {
	js     jetstream.JetStream
	config jetstream.KeyValueConfig

	// locks serialise changes of a key within this process, so that they do not
	// make each other fail. Keys share the locks by their hash.
	locks [64]chan struct{}

	lock  chan struct{} // guards what follows
	kv    jetstream.KeyValue
	after time.Time // not opened before this time, because of cause
	cause error
}

// NewKV returns a KV without touching the bucket, see [KV.Open].
func NewKV(js jetstream.JetStream, config jetstream.KeyValueConfig) *KV {
	b := &KV{js: js, config: config, lock: make(chan struct{}, 1)}
	for i := range b.locks {
		b.locks[i] = make(chan struct{}, 1)
	}
	return b
}

// Name returns the bucket's name.
func (b *KV) Name() string { return b.config.Bucket }

// Open opens the bucket and creates a missing one. Otherwise the first use does
// so.
func (b *KV) Open(ctx context.Context) error {
	_, err := b.open(ctx)
	return err
}

func (b *KV) open(ctx context.Context) (jetstream.KeyValue, error) {
	end, err := acquire(ctx, b.lock)
	if err != nil {
		return nil, err
	}
	defer end()
	if b.kv != nil {
		return b.kv, nil
	}
	if time.Now().Before(b.after) {
		return nil, fmt.Errorf("%w: %w", ErrBucketAway, b.cause)
	}
	kv, err := OpenBucket(ctx, b.js, b.config)
	if err != nil {
		b.after, b.cause = time.Now().Add(bucketPause), err
		return nil, err
	}
	b.kv = kv
	return kv, nil
}

func acquire(ctx context.Context, lock chan struct{}) (end func(), err error) {
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Use calls f with the open bucket. When the bucket turns out to be gone, a later
// call opens it again. The error names the bucket.
func (b *KV) Use(ctx context.Context, f func(kv jetstream.KeyValue) error) error {
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
				b.kv, b.after, b.cause = nil, time.Now().Add(bucketPause), err
			}
			end()
		}
	}
	return fmt.Errorf("%s: %w", b.config.Bucket, err)
}

// BucketState is the state of a bucket.
type BucketState struct {
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
func (b *KV) State(ctx context.Context) (BucketState, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := b.js.Stream(ctx, BucketStream(b.config.Bucket))
	if err != nil {
		return BucketState{}, err
	}
	info := stream.CachedInfo()
	if err := RequireLeader(info.Cluster); err != nil {
		return BucketState{}, err
	}
	return BucketState{Made: info.Created, Last: info.State.LastSeq, Messages: info.State.Msgs}, nil
}

// Each calls yield with the entries of all keys that match a pattern, in the order
// of their last change. An error of yield ends it.
func (b *KV) Each(ctx context.Context, pattern string, yield func(jetstream.KeyValueEntry) error) error {
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
					return ErrBucketAway
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

// Value is the value of a key; a revision of 0 means that the key does not
// exist.
type Value[T any] struct {
	V        T
	Revision uint64
	Created  time.Time
	// Broken is why the value cannot be decoded by this version; V is then the
	// zero value.
	Broken error
}

// Get reads a key. A missing key is the zero value, not an error.
func Get[T any](ctx context.Context, b *KV, key string) (out Value[T], err error) {
	err = b.Use(ctx, func(kv jetstream.KeyValue) error {
		entry, err := kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		out.Revision, out.Created = entry.Revision(), entry.Created()
		if err := json.Unmarshal(entry.Value(), &out.V); err != nil {
			out.V, out.Broken = *new(T), fmt.Errorf("%s: key %s: %w", b.config.Bucket, key, err)
		}
		return nil
	})
	return out, err
}

// Put writes a key over the given revision, 0 for a key that must not exist. It
// returns the new revision; ok is false if the key has another revision.
func (b *KV) Put(ctx context.Context, key string, v any, revision uint64) (now uint64, ok bool, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, false, err
	}
	err = b.Use(ctx, func(kv jetstream.KeyValue) (err error) {
		if revision > 0 {
			now, err = kv.Update(ctx, key, data, revision)
		} else {
			now, err = kv.Create(ctx, key, data)
		}
		return err
	})
	if IsConflict(err) {
		return 0, false, nil
	}
	return now, err == nil, err
}

// Change modifies the value of a key. A missing value, or one that this version
// cannot decode, is passed as the zero value. Change retries on conflicts with
// other writers, so change may be called several times; it returns false to
// leave the key unchanged. The result is the value after the last call of
// change.
func Change[T any](ctx context.Context, b *KV, key string, change func(known *Value[T]) (write bool, err error)) (Value[T], error) {
	var known Value[T]
	err := b.compete(ctx, key, func() (done bool, err error) {
		if known, err = Get[T](ctx, b, key); err != nil {
			return true, err
		}
		before := known.Revision
		if write, err := change(&known); err != nil || !write {
			return true, err
		}
		revision, ok, err := b.Put(ctx, key, known.V, before)
		if ok || err != nil {
			known.Revision = revision
		}
		return ok, err
	})
	return known, err
}

// Remove deletes a key if remove says so of its value; it retries like [Change], so
// remove may be called several times. A missing key is no error.
func Remove[T any](ctx context.Context, b *KV, key string, remove func(known *Value[T]) bool) error {
	return b.compete(ctx, key, func() (done bool, err error) {
		known, err := Get[T](ctx, b, key)
		if err != nil || known.Revision == 0 || !remove(&known) {
			return true, err
		}
		err = b.Use(ctx, func(kv jetstream.KeyValue) error { return kv.Delete(ctx, key, jetstream.LastRevision(known.Revision)) })
		if IsConflict(err) {
			return false, nil
		}
		return true, err
	})
}

// compete calls do until it is done, with pauses, as other writers may have been
// first. Those of this process wait for each other.
func (b *KV) compete(ctx context.Context, key string, do func() (done bool, err error)) error {
	end, err := acquire(ctx, b.locks[hash(key)%uint32(len(b.locks))])
	if err != nil {
		return err
	}
	defer end()
	for attempt := range maxAttempts {
		if err := competeRetry.Wait(ctx, attempt); err != nil {
			return err
		}
		if done, err := do(); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: key %s: %w", b.config.Bucket, key, errContended)
}

func hash(key string) uint32 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	return sum.Sum32()
}

// isGone reports whether the bucket's stream no longer exists or does not
// answer.
func isGone(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound)
}

// IsConflict reports whether a key was not changed because it has another revision
// than expected.
func IsConflict(err error) bool {
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return true
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
