package kv

import (
	"context"
	"fmt"

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
	for attempt := 1; ; attempt++ {
		m, err := s.bucket.get(ctx, token)
		if err != nil {
			return nil, err
		}
		if m.revision == 0 {
			// An operator may have deleted the session and left its other keys.
			if err := s.bucket.purge(ctx, beside, anyRevision); err != nil {
				return nil, err
			}
			break
		}
		m.key = token
		gone, err := s.remove(ctx, m)
		if err != nil {
			return nil, err
		}
		if gone {
			removed = append(removed, token)
			break
		}
		if attempt == maxAttempts {
			return nil, errConflict
		}
		if err := pause(ctx, attempt); err != nil {
			return nil, err
		}
	}
	if err := s.bucket.purge(ctx, lostKey+token+".*", anyRevision); err != nil {
		return removed, err
	}
	return removed, s.forget(ctx, token)
}
