package kv

import (
	"context"
	"math"
	"strings"

	"github.com/nats-io/nuid"

	"intenthint/store"
)

// lostKey begins the keys of losses, _.lost.<token>.<mark>.
const lostKey = "_.lost."

// MarkLost implements [store.Losses].
func (s *Store) MarkLost(ctx context.Context, token string) error {
	_, err := s.bucket.put(ctx, lostKey+token+"."+nuid.Next(), []byte("lost"), 0)
	return err
}

// Lost implements [store.Losses]. It drops these sessions from memory, so that
// facts applied to them again are written.
func (s *Store) Lost(ctx context.Context) (out []store.Loss, err error) {
	err = s.bucket.follow(ctx, lostKey+"*.*", 0, math.MaxUint64, func(m message) error {
		token, mark, _ := strings.Cut(strings.TrimPrefix(m.key, lostKey), ".")
		out = append(out, store.Loss{Token: token, Mark: mark})
		return s.forget(ctx, token)
	})
	return out, err
}

// Recovered implements [store.Losses].
func (s *Store) Recovered(ctx context.Context, loss store.Loss) error {
	return s.bucket.purge(ctx, lostKey+loss.Token+"."+loss.Mark, anyRevision)
}

// forget makes the next Apply read a session from the bucket.
func (s *Store) forget(ctx context.Context, token string) error {
	unlock, err := s.locks.Lock(ctx, token)
	if err != nil {
		return err
	}
	defer unlock()
	s.entries.Remove(token)
	s.indexes.Remove(token)
	return nil
}

// forgetAll makes the next Apply read every session from the bucket.
func (s *Store) forgetAll(ctx context.Context) error {
	unlock, err := s.locks.LockAll(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.entries.RemoveAll()
	s.indexes.RemoveAll()
	return nil
}
