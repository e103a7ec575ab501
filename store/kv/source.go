package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// SetSource notes that the sessions contain all that was applied of a stream.
func (s *Store) SetSource(ctx context.Context, source store.Source) error {
	data, err := json.Marshal(source)
	if err != nil {
		return err
	}
	for {
		m, err := s.bucket.get(ctx, sourceKey)
		if err != nil {
			return fmt.Errorf("set the source of the sessions: %w", err)
		}
		_, err = s.bucket.put(ctx, sourceKey, data, m.revision)
		if !errors.Is(err, errConflict) {
			return err
		}
	}
}

// Rebuilding lets everybody rebuild: processes that do it at the same time get
// in each other's way and nothing worse.
func (s *Store) Rebuilding(context.Context) (release func(), ok bool, err error) {
	return func() {}, true, nil
}
