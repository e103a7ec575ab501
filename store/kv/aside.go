package kv

import (
	"context"
	"fmt"

	"intenthint/internal/kv"
)

// setAside moves a corrupt value to another key and replaces it by the readable
// part of the session. If several processes try, one succeeds.
func (s *Store) setAside(ctx context.Context, at record, instead head, reason error) (record, error) {
	aside, err := s.keepAside(ctx, at.key, at)
	if err != nil {
		return record{}, err
	}
	// The chunks of the old value stay: the value set aside uses them.
	at, err = s.writeHead(ctx, record{key: at.key, revision: at.revision}, instead)
	if err != nil {
		return record{}, err
	}
	s.log.WarnContext(ctx, "setting aside corrupt session", "session", at.key, "as", aside, "error", reason)
	return at, nil
}

// keepAside copies the value of a key to another key and records that its
// session lacks events.
func (s *Store) keepAside(ctx context.Context, token string, at record) (aside string, err error) {
	m, err := s.bucket.get(ctx, at.key)
	if err != nil {
		return "", err
	}
	if m.revision != at.revision {
		return "", kv.ErrConflict
	}
	aside = fmt.Sprintf("%s%s%d", at.key, asideKey, s.now().UnixMilli())
	if _, err := s.bucket.put(ctx, aside, m.value, 0); err != nil && !kv.IsConflict(err) {
		return "", err
	}
	return aside, s.MarkLost(ctx, token)
}

// setTurnAside sets an unreadable retired turn aside. A marker takes its place,
// so that the key keeps a revision: this stops a late process from writing an
// old turn there.
func (s *Store) setTurnAside(ctx context.Context, token string, at record, reason error) error {
	aside, err := s.keepAside(ctx, token, at)
	if err != nil {
		return err
	}
	if err := s.bucket.remove(ctx, at.key, at.revision); err != nil {
		return err
	}
	s.log.WarnContext(ctx, "setting aside corrupt retired turn", "session", token, "as", aside, "error", reason)
	return nil
}
