package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nuid"

	"intenthint/store"
)

// sourceKey says which event stream the sessions are made of. No session has
// it: the token _ stands for an absent one.
const sourceKey = "_.source"

// Source returns the stream that all sessions here are known to be made of; the
// zero Source when none was set, as in a bucket that was just made.
func (s *Store) Source(ctx context.Context) (store.Source, error) {
	var out store.Source
	m, err := s.bucket.get(ctx, sourceKey)
	if err == nil && m.value != nil {
		err = json.Unmarshal(m.value, &out)
	}
	if err != nil {
		return store.Source{}, fmt.Errorf("read the source of the sessions: %w", err)
	}
	return out, nil
}

// rebuildKey begins the keys of rebuilds that are under way.
const rebuildKey = "_.rebuild."

// Rebuilding lets everybody rebuild: processes that do it at the same time get
// in each other's way and nothing worse.
func (s *Store) Rebuilding(ctx context.Context) (r store.Rebuild, ok bool, err error) {
	// If the bucket is lost before the rebuild is done, so is this key, and
	// what was rebuilt is not taken for all.
	key := rebuildKey + nuid.Next()
	began, err := s.bucket.put(ctx, key, []byte("began"), 0)
	if err == nil {
		// To a session that is in memory with all its events nothing is written.
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
			if errors.Is(err, errConflict) {
				return fmt.Errorf("the sessions were lost while they were made again: %w", err)
			}
			return err
		},
		Release: func() { _ = s.bucket.purge(context.WithoutCancel(ctx), key, anyRevision) },
	}, true, nil
}
