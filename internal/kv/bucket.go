package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/retry"
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

// Open opens a bucket. It creates a missing one.
func Open(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	bucket, err := bus.Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.KeyValue, error) {
		return FindOrCreate(ctx,
			func(ctx context.Context) (jetstream.KeyValue, error) { return js.KeyValue(ctx, want.Bucket) },
			func(ctx context.Context) (jetstream.KeyValue, error) { return js.CreateKeyValue(ctx, want) })
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", want.Bucket, err)
	}
	return bucket, nil
}

// FindOrCreate returns what find returns for a bucket, or its stream. If that is
// missing, create creates it.
func FindOrCreate[T any](ctx context.Context, find, create func(context.Context) (T, error)) (found T, err error) {
	err = CreateRetry.Do(ctx, func(ctx context.Context) error {
		found, err = find(ctx)
		if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			found, err = create(ctx)
		}
		return err
	})
	return found, err
}

// CreateRetry is for about a second: another process created the stream first, and
// not every server of the cluster has it, or its new consumer, yet; or the files of
// a deleted stream still exist. The fault may also be permanent.
var CreateRetry = retry.Policy{
	Backoff:  retry.Backoff{First: 10 * time.Millisecond, Max: 40 * time.Millisecond},
	Attempts: 36,
	Temporary: func(err error) bool {
		return errors.Is(err, jetstream.ErrBucketExists) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || isStoreFailed(err)
	},
}

// isStoreFailed reports whether a server could not make the files of a stream.
func isStoreFailed(err error) bool {
	const storeFailed jetstream.ErrorCode = 10049 // the server's; the client library has no name for it
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == storeFailed
}

// ConflictRetry is how a change that lost to another process is tried again. In a
// burst all processes change the same keys, and each success makes the other
// attempts fail; each means that somebody made progress. A change takes about a
// millisecond, and replicas may be behind for some. In all it takes some two
// seconds.
var ConflictRetry = retry.Policy{
	Backoff:   retry.Backoff{First: time.Millisecond, Max: 16 * time.Millisecond},
	Attempts:  200,
	Temporary: IsConflict,
}

// Locks exclude the goroutines of this process from a key, so that they do not make
// each other's changes fail. Keys share the locks by their hash: there are as many as
// are written at once.
type Locks [64]chan struct{}

// NewLocks returns open locks.
func NewLocks() *Locks {
	var l Locks
	for i := range l {
		l[i] = make(chan struct{}, 1)
	}
	return &l
}

// Lock locks a key.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func(), err error) {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	return acquire(ctx, l[sum.Sum32()%uint32(len(l))])
}

// LockAll locks all keys.
func (l *Locks) LockAll(ctx context.Context) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, end := range held {
			end()
		}
	}
	for _, lock := range l {
		end, err := acquire(ctx, lock)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, end)
	}
	return unlock, nil
}

func acquire(ctx context.Context, lock chan struct{}) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
func Get[T any](ctx context.Context, b *Bucket, key string) (out Value[T], err error) {
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

// Put writes a key over the given revision, 0 for a key that must not exist, and
// returns the new one. The error for another revision is a conflict, see
// [IsConflict].
func (b *Bucket) Put(ctx context.Context, key string, v any, revision uint64) (now uint64, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	err = b.Use(ctx, func(kv jetstream.KeyValue) (err error) {
		if revision > 0 {
			now, err = kv.Update(ctx, key, data, revision)
		} else {
			now, err = kv.Create(ctx, key, data)
		}
		return err
	})
	return now, err
}

// Change modifies the value of a key. A missing value, or one that this version
// cannot decode, is passed as the zero value. Change retries on conflicts with
// other writers, so change may be called several times; it returns false to
// leave the key unchanged. The result is the value after the last call of
// change.
func Change[T any](ctx context.Context, b *Bucket, key string, change func(known *Value[T]) (write bool, err error)) (Value[T], error) {
	var known Value[T]
	err := b.compete(ctx, key, func(ctx context.Context) (err error) {
		if known, err = Get[T](ctx, b, key); err != nil {
			return err
		}
		before := known.Revision
		if write, err := change(&known); err != nil || !write {
			return err
		}
		known.Revision, err = b.Put(ctx, key, known.V, before)
		return err
	})
	return known, err
}

// Remove deletes a key if remove says so of its value; it retries like [Change], so
// remove may be called several times. A missing key is no error.
func Remove[T any](ctx context.Context, b *Bucket, key string, remove func(known *Value[T]) bool) error {
	return b.compete(ctx, key, func(ctx context.Context) error {
		known, err := Get[T](ctx, b, key)
		if err != nil || known.Revision == 0 || !remove(&known) {
			return err
		}
		return b.Use(ctx, func(kv jetstream.KeyValue) error { return kv.Delete(ctx, key, jetstream.LastRevision(known.Revision)) })
	})
}

// compete calls change, while the other writers of this process wait, until no other
// process is faster.
func (b *Bucket) compete(ctx context.Context, key string, change func(context.Context) error) error {
	unlock, err := b.locks.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	err = ConflictRetry.Do(ctx, change)
	if IsConflict(err) { // at every attempt
		err = fmt.Errorf("key %s: %w", key, err)
	}
	return err
}
