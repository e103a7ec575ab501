package kv

import (
	"context"
	"errors"
	"fmt"
)

// setAside keeps a corrupt value under another key and puts what can be
// read of the session in its place. Of several processes one succeeds.
func (s *Store) setAside(ctx context.Context, at record, instead head, reason error) (record, error) {
	aside, err := s.keepAside(ctx, at.key, at)
	if err != nil {
		return record{}, err
	}
	// The chunks of the old value stay: they belong to the one set aside.
	at, err = s.writeHead(ctx, record{key: at.key, revision: at.revision}, instead)
	if err != nil {
		return record{}, err
	}
	s.log.WarnContext(ctx, "setting aside corrupt session", "session", at.key, "as", aside, "error", reason)
	return at, nil
}

// keepAside keeps the value of a key under another one, and notes that its
// session lacks events.
func (s *Store) keepAside(ctx context.Context, token string, at record) (aside string, err error) {
	m, err := s.bucket.get(ctx, at.key)
	if err != nil {
		return "", err
	}
	if m.revision != at.revision {
		return "", errConflict
	}
	aside = fmt.Sprintf("%s%s%d", at.key, asideKey, s.now().UnixMilli())
	if _, err := s.bucket.put(ctx, aside, m.value, 0); err != nil && !errors.Is(err, errConflict) {
		return "", err
	}
	return aside, s.MarkLost(ctx, token)
}

// setTurnAside does so with a retired turn that cannot be read. What takes its
// place is a marker: the key keeps a revision, which tells a process that is
// late not to put there what it has.
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
