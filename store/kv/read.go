package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"intenthint/store"
)

// Get implements [store.Reader].
func (s *Store) Get(ctx context.Context, session string) (json.RawMessage, error) {
	for _, token := range store.Tokens(session) {
		document, err := s.document(ctx, token)
		if err != nil {
			return nil, fmt.Errorf("reading session %s: %w", token, err)
		}
		if document != nil {
			return document, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", store.ErrNotFound, session)
}

// document reads a session; nil for one without turns.
func (s *Store) document(ctx context.Context, token string) (json.RawMessage, error) {
	h, _, err := s.head(ctx, token)
	if err != nil || h.state == nil {
		return nil, err
	}
	doc, err := store.Decode(h.state)
	if err != nil || doc.Turns() == 0 {
		return nil, err
	}
	return doc.Session()
}

// head reads the value of a session; its state is nil for an unknown session.
func (s *Store) head(ctx context.Context, token string) (head, record, error) {
	at, err := s.bucket.read(ctx, token)
	if err != nil || at.data == nil {
		return head{}, at, err
	}
	h, err := decodeHead(at.data)
	return h, at, err
}

// List implements [store.Reader].
func (s *Store) List(ctx context.Context) ([]store.Summary, error) {
	found := map[string]store.Summary{}
	err := s.bucket.each(ctx, "*", true, func(m message) error {
		summary, err := s.summarize(ctx, m)
		switch {
		case errors.Is(err, store.ErrCorrupt), errors.Is(err, errFormat):
			s.log.WarnContext(ctx, "omitting corrupt session from list", "session", m.key, "error", err, "remedy", "consumer sessions rebuild "+m.key)
		case err != nil:
			return err
		case summary.Turns > 0:
			found[m.key] = summary
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	return slices.SortedFunc(maps.Values(found), store.Summary.Compare), nil
}

// Count implements [store.Reader].
func (s *Store) Count(ctx context.Context) (int, error) {
	found := map[string]struct{}{} // a key that is written meanwhile comes twice
	err := s.bucket.each(ctx, "*", false, func(m message) error {
		found[m.key] = struct{}{}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("counting sessions: %w", err)
	}
	return len(found), nil
}

// summarize reads a summary from a value; one without turns does not belong in
// a list.
func (s *Store) summarize(ctx context.Context, m message) (store.Summary, error) {
	r, err := s.bucket.recordOf(ctx, m)
	if err != nil || r.data == nil {
		return store.Summary{}, err
	}
	h, err := decodeHead(r.data)
	if err != nil {
		return store.Summary{}, err
	}
	summary, err := store.Summarize(h.state)
	summary.Token, summary.Updated = m.key, r.time
	return summary, err
}

// Retired implements [store.Reader].
func (s *Store) Retired(ctx context.Context, session string) ([]json.RawMessage, error) {
	for _, token := range store.Tokens(session) {
		turns, err := s.retired(ctx, token)
		if err != nil {
			return nil, fmt.Errorf("reading history of session %s: %w", token, err)
		}
		if len(turns) > 0 {
			return turns, nil
		}
	}
	return nil, nil
}

func (s *Store) retired(ctx context.Context, token string) ([]json.RawMessage, error) {
	type retiredTurn struct {
		raw      json.RawMessage
		begin    store.Key
		revision uint64
	}
	byRun := map[string]retiredTurn{}
	// Read leaving turns first: they may get keys of their own meanwhile.
	h, at, err := s.head(ctx, token)
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return nil, err
	}
	for _, raw := range h.leaving {
		if turn, err := store.DecodeTurn(raw); err == nil {
			byRun[turn.RunID] = retiredTurn{raw, turn.Begin, at.revision}
		}
	}
	err = s.bucket.each(ctx, token+turnKey+"*", true, func(m message) error {
		at, turn, err := s.turn(ctx, m)
		if errors.Is(err, store.ErrCorrupt) {
			s.log.WarnContext(ctx, "omitting corrupt retired turn", "session", token, "key", m.key, "error", err)
			return nil
		}
		if err != nil || turn == nil {
			return err
		}
		if m.revision > byRun[turn.RunID].revision {
			byRun[turn.RunID] = retiredTurn{at.data, turn.Begin, m.revision}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := slices.SortedFunc(maps.Values(byRun), func(a, b retiredTurn) int { return a.begin.Compare(b.begin) })
	var out []json.RawMessage
	for _, t := range all {
		out = append(out, t.raw)
	}
	return out, nil
}
