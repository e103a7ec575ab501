package kv

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Sweep implements [store.Sweeper]. Several processes may sweep at once.
func (s *Store) Sweep(ctx context.Context, olderThan time.Duration) (removed int, err error) {
	var errs []error
	if olderThan > 0 {
		removed, err = s.sweepSessions(ctx, olderThan)
		errs = append(errs, err, s.sweepAside(ctx, olderThan))
	}
	return removed, errors.Join(append(errs, s.sweepChunks(ctx))...)
}

// stale returns the older keys that match the filter, each with its revision.
func (s *Store) stale(ctx context.Context, filter string, olderThan time.Duration) ([]message, error) {
	var out []message
	err := s.bucket.each(ctx, filter, false, func(m message) error {
		if s.now().Sub(m.time) > olderThan {
			out = append(out, m)
		}
		return nil
	})
	return out, err
}

func (s *Store) sweepSessions(ctx context.Context, olderThan time.Duration) (removed int, err error) {
	stale, err := s.stale(ctx, "*", olderThan)
	errs := []error{err}
	for _, m := range stale {
		gone, err := s.remove(ctx, m)
		if err != nil {
			errs = append(errs, err)
		}
		if gone {
			removed++
		}
		if ctx.Err() != nil {
			break
		}
	}
	return removed, errors.Join(errs...)
}

// remove removes a session if it is still at its revision. It first writes an
// empty session: that write resolves the race with a new fact, and its revision
// separates the data of the old session from that of a new one. A process that
// dies in between leaves the empty session to the next sweep.
func (s *Store) remove(ctx context.Context, m message) (bool, error) {
	unlock, err := s.lock(ctx, m.key)
	if err != nil {
		return false, err
	}
	defer unlock()
	at, err := s.writeEmpty(ctx, record{key: m.key, revision: m.revision})
	if errors.Is(err, errConflict) {
		return false, nil // it was touched
	}
	if err != nil {
		return false, err
	}
	s.entries.Remove(m.key)
	s.indexes.Remove(m.key)
	if err := s.bucket.purge(ctx, m.key+".>", at.revision); err != nil {
		return false, err
	}
	return true, s.bucket.purge(ctx, m.key, at.revision+1)
}

// asides are the filters for set-aside sessions and retired turns.
var asides = []string{"*" + asideKey + "*", "*" + turnKey + "*" + asideKey + "*"}

// sweepAside removes old set-aside values.
func (s *Store) sweepAside(ctx context.Context, olderThan time.Duration) error {
	var errs []error
	for _, filter := range asides {
		stale, err := s.stale(ctx, filter, olderThan)
		errs = append(errs, err)
		for _, m := range stale {
			errs = append(errs, s.bucket.purge(ctx, m.key, m.revision+1))
		}
	}
	return errors.Join(errs...)
}

// sweepChunks removes the chunks of values that were never written, or were
// overwritten by a process that died before it purged them.
func (s *Store) sweepChunks(ctx context.Context) error {
	chunks, err := s.stale(ctx, "*"+chunkKey+"*", strayAge)
	if err != nil {
		return err
	}
	ofTurns, err := s.stale(ctx, "*"+turnKey+"*"+chunkKey+"*", strayAge)
	if err != nil {
		return err
	}
	byKey := map[string][]string{}
	for _, m := range append(chunks, ofTurns...) {
		i := strings.LastIndex(m.key, chunkKey)
		key := m.key[:i]
		byKey[key] = append(byKey[key], m.key[i+len(chunkKey):])
	}
	if len(byKey) == 0 {
		return nil
	}
	// Values set aside have chunks too.
	aside := map[string][]string{}
	for _, filter := range asides {
		err := s.bucket.each(ctx, filter, true, func(m message) error {
			key := m.key[:strings.LastIndex(m.key, asideKey)]
			aside[key] = append(aside[key], chunksOf(m.value)...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for key, names := range byKey {
		m, err := s.bucket.get(ctx, key)
		if err != nil {
			return err
		}
		s.bucket.purgeChunks(ctx, key, names, slices.Concat(chunksOf(m.value), aside[key]))
	}
	return nil
}
