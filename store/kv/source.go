package kv

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nuid"

	"intenthint/internal/kv"
	"intenthint/store"
)

// sourceKey names the event stream that the sessions are made from. No session
// has it: the token _ stands for an absent one.
const sourceKey = "_.source"

// Source implements [store.Reader].
func (s *Store) Source(ctx context.Context) (store.Source, error) {
	var out store.Source
	m, err := s.bucket.get(ctx, sourceKey)
	if err == nil && m.value != nil {
		err = json.Unmarshal(m.value, &out)
	}
	if err != nil {
		return store.Source{}, fmt.Errorf("reading source of sessions: %w", err)
	}
	return out, nil
}

// SetSource implements [store.Rebuilder].
func (s *Store) SetSource(ctx context.Context, source store.Source) error {
	m, err := s.bucket.get(ctx, sourceKey)
	if err == nil && m.value == nil {
		return store.ErrNoSource
	}
	var data []byte
	if err == nil {
		data, err = json.Marshal(source)
	}
	if err == nil {
		_, err = s.bucket.put(ctx, sourceKey, data, m.revision)
	}
	if err != nil {
		return fmt.Errorf("writing source of sessions: %w", err)
	}
	return nil
}

// rebuildKey begins the keys of rebuilds in progress.
const rebuildKey = "_.rebuild."

// Rebuilding implements [store.Rebuilder]. ok is always true: concurrent
// rebuilds slow each other down but do no harm.
func (s *Store) Rebuilding(ctx context.Context) (r store.Rebuild, ok bool, err error) {
	// If the bucket is lost before the rebuild is done, so is this key, and the
	// rebuild does not count.
	key := rebuildKey + nuid.Next()
	began, err := s.bucket.put(ctx, key, []byte("began"), 0)
	if err == nil {
		// Nothing is written to a session that is in memory with all its
		// events.
		err = s.forgetAll(ctx)
	}
	if err != nil {
		return r, false, err
	}
	return store.Rebuild{
		Finish: func(ctx context.Context, source store.Source) error {
			data, err := json.Marshal(source)
			if err == nil {
				_, err = s.bucket.putWhile(ctx, sourceKey, data, key, began)
			}
			if kv.IsConflict(err) {
				return fmt.Errorf("session store lost during rebuild: %w", err)
			}
			return err
		},
		Release: func() { _ = s.bucket.purge(context.WithoutCancel(ctx), key, anyRevision) },
	}, true, nil
}
