package kv

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"intenthint/internal/kv"
	"intenthint/store"
	"intenthint/subjects"
)

// entry is a session in memory, as written at a revision.
type entry struct {
	doc *store.Document
	// at is the record that doc was made of.
	at record
	// bytes is the size of its data.
	bytes int
	// archived reports whether turns of the session may exist under their own
	// keys.
	archived bool
	// leaving are the turns stored in the value next to the document.
	leaving []json.RawMessage
	// written reports whether the leaving turns are also stored under their own
	// keys.
	written bool
	// guess reports whether the session is assumed, without a read, to be new. The
	// compare-and-set detects a wrong guess.
	guess bool
}

// load reads a session from the bucket. An earlier state, which may be nil,
// makes that cheap. A corrupt value is set aside.
func (s *Store) load(ctx context.Context, token string, earlier *entry) (e *entry, lost bool, err error) {
	at, err := s.bucket.read(ctx, token)
	var h head
	doc := &store.Document{}
	// What replaces a corrupt value. The session may have retired turns.
	instead := empty()
	instead.Archived = true
	switch {
	case err != nil:
	case at.data == nil:
		if at.revision > 0 {
			// Deleted by an operator: this package leaves no marker there.
			lost, h = true, instead
			err = s.MarkLost(ctx, token)
		}
	default:
		if h, err = decodeHead(at.data); err == nil {
			var known *store.Document
			if earlier != nil {
				known = earlier.doc
			}
			var whole *store.Document
			if whole, err = store.Redecode(h.state, known); err == nil {
				doc, instead.state = whole, h.state
				instead.leaving, err = readable(h.leaving)
			}
		}
	}
	if errors.Is(err, store.ErrCorrupt) {
		if at, err = s.setAside(ctx, at, instead, err); err == nil {
			lost, h = true, instead
		}
	}
	if err != nil {
		return nil, lost, err
	}
	e = &entry{doc: doc, at: at, bytes: len(at.data), archived: h.Archived, leaving: h.leaving}
	e.at.data = nil
	return e, lost, nil
}

// readable returns the readable turns, and an error if there are others.
func readable(turns []json.RawMessage) (out []json.RawMessage, err error) {
	for _, raw := range turns {
		if _, failure := store.DecodeTurn(raw); failure != nil {
			err = failure
			continue
		}
		out = append(out, raw)
	}
	return out, err
}

func (s *Store) writeHead(ctx context.Context, over record, h head) (record, error) {
	data, err := h.append(nil, func(buf []byte) ([]byte, error) { return append(buf, h.state...), nil })
	if err != nil {
		return record{}, err
	}
	return s.bucket.write(ctx, over, data)
}

// buffers are reused because a long session is a large value.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// write writes the session of an entry over the record it was read from.
func (s *Store) write(ctx context.Context, e *entry, leaving []json.RawMessage) error {
	h := head{Format: format, Archived: e.archived || len(e.leaving) > 0, leaving: leaving}
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	data, err := h.append((*buf)[:0], e.doc.AppendState)
	if err != nil {
		return err
	}
	*buf = data
	if e.at, err = s.bucket.write(ctx, e.at, data); err != nil {
		return err
	}
	e.bytes, e.archived, e.leaving, e.written, e.guess = len(data), h.Archived, leaving, false, false
	return nil
}

// writeLeaving writes the leaving turns under their own keys.
func (s *Store) writeLeaving(ctx context.Context, token string, e *entry) error {
	if e.written {
		return nil
	}
	for _, raw := range e.leaving {
		turn, err := store.DecodeTurn(raw)
		if err != nil {
			return err
		}
		if err := s.retire(ctx, token+turnKey+subjects.Name(turn.RunID), raw, e.at.revision); err != nil {
			return err
		}
	}
	e.written = true
	return nil
}

// retire writes a turn that was seen leaving at a revision of its session,
// unless another process has done so since.
func (s *Store) retire(ctx context.Context, key string, raw []byte, seen uint64) error {
	over := record{key: key} // most turns are retired once
	return kv.ConflictRetry.Do(ctx, func(ctx context.Context) error {
		_, conflict := s.bucket.write(ctx, over, raw)
		if !kv.IsConflict(conflict) {
			return conflict
		}
		m, err := s.bucket.get(ctx, key)
		if err != nil || m.revision > seen {
			return err
		}
		over.revision, over.chunks = m.revision, chunksOf(m.value)
		return conflict
	})
}
