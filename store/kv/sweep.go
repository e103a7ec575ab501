package kv

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"intenthint/internal/kv"
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

// stale returns the older keys that match one of the filters, each with its
// revision. After an error it goes on with the next filter.
func (s *Store) stale(ctx context.Context, olderThan time.Duration, filters ...string) ([]message, error) {
	var out []message
	var errs []error
	for _, filter := range filters {
		errs = append(errs, s.bucket.each(ctx, filter, false, func(m message) error {
			if s.now().Sub(m.time) > olderThan {
				out = append(out, m)
			}
			return nil
		}))
	}
	return out, errors.Join(errs...)
}

func (s *Store) sweepSessions(ctx context.Context, olderThan time.Duration) (removed int, err error) {
	stale, err := s.stale(ctx, olderThan, "*")
	errs := []error{err}
	for _, m := range stale {
		gone, err := s.remove(ctx, m)
		errs = append(errs, err)
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
	unlock, err := s.locks.Lock(ctx, m.key)
	if err != nil {
		return false, err
	}
	defer unlock()
	at, err := s.writeHead(ctx, record{key: m.key, revision: m.revision}, empty())
	if kv.IsConflict(err) {
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
	stale, err := s.stale(ctx, olderThan, asides...)
	errs := []error{err}
	for _, m := range stale {
		errs = append(errs, s.bucket.purge(ctx, m.key, m.revision+1))
	}
	return errors.Join(errs...)
}

// sweepChunks removes the chunks of values that were never written, or were
// overwritten by a process that died before it purged them.
func (s *Store) sweepChunks(ctx context.Context) error {
	chunks, err := s.stale(ctx, strayAge, "*"+chunkKey+"*", "*"+turnKey+"*"+chunkKey+"*")
	if err != nil || len(chunks) == 0 {
		return err
	}
	byKey := map[string][]string{}
	for _, m := range chunks {
		i := strings.LastIndex(m.key, chunkKey)
		key := m.key[:i]
		byKey[key] = append(byKey[key], m.key[i+len(chunkKey):])
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
