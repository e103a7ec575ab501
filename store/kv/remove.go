package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nats-io/nuid"

	"intenthint/internal/kv"
	"intenthint/store"
)

// Remove implements [store.Remover].
func (s *Store) Remove(ctx context.Context, token string) (removed []string, err error) {
	if !store.IsSession(token) {
		return nil, nil
	}
	removed, err = s.removeAll(ctx, token)
	if err != nil {
		return removed, fmt.Errorf("removing session %s: %w", token, err)
	}
	return removed, nil
}

func (s *Store) removeAll(ctx context.Context, token string) (removed []string, err error) {
	beside := token + ".>"
	note := func(m message) error { removed = append(removed, m.key); return nil }
	if err := s.bucket.each(ctx, beside, false, note); err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	err = kv.ConflictRetry.Do(ctx, func(ctx context.Context) error {
		m, err := s.bucket.get(ctx, token)
		if err != nil {
			return err
		}
		if err := s.keepRemoved(ctx, token, kept); err != nil {
			return err
		}
		if m.revision == 0 {
			// An operator may have deleted the session and left its other keys.
			return s.bucket.purge(ctx, beside, anyRevision)
		}
		m.key = token
		gone, err := s.remove(ctx, m)
		if err != nil {
			return err
		}
		if !gone {
			return kv.ErrConflict
		}
		removed = append(removed, token)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.bucket.purge(ctx, lostKey+token+".*", anyRevision); err != nil {
		return removed, err
	}
	return removed, s.forget(ctx, token)
}

// removedKey begins the keys of runs that were removed, _.removed.<session>.<part>.
// The session is a hash; a value has the names of runs ([store.RemovedRun]), one a
// line.
const removedKey = "_.removed."

// keepRemoved keeps the names of the session's runs before they are removed, and
// adds them to kept, whose names it leaves out.
func (s *Store) keepRemoved(ctx context.Context, token string, kept map[string]bool) error {
	h, _, err := s.head(ctx, token)
	if err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, errFormat) {
		return err
	}
	retired, err := s.retired(ctx, token)
	if err != nil && !errors.Is(err, errFormat) {
		return err
	}
	names := slices.DeleteFunc(store.RemovedRuns(token, h.state, retired), func(name string) bool { return kept[name] })
	most := s.bucket.limit() / len("0123456789abcdef\n")
	for part := range slices.Chunk(names, most) {
		key := removedKey + store.RemovedRun(token, "") + "." + nuid.Next()
		if _, err := s.bucket.put(ctx, key, []byte(strings.Join(part, "\n")), 0); err != nil {
			return err
		}
		for _, name := range part {
			kept[name] = true
		}
	}
	return nil
}

// removedRuns returns the names of the runs that were removed from a session.
func (s *Store) removedRuns(ctx context.Context, token string) (names []string, err error) {
	filter := removedKey + store.RemovedRun(token, "") + ".*"
	err = s.bucket.follow(ctx, filter, 0, math.MaxUint64, func(m message) error {
		names = append(names, strings.Fields(string(m.value))...)
		return nil
	})
	return names, err
}
