package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

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
