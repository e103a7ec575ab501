package file

import (
	"context"
	"errors"
	"os"
	"sync"

	"intenthint/store"
)

// entry is a session in memory. It is valid while its files are unchanged.
type entry struct {
	doc              *store.Document
	session, pending os.FileInfo // nil: no such file
	// journal is the content of the pending file.
	journal journal
	outline *outline // nil: not written by this process
	// lost reports whether part of the session was unreadable and was set
	// aside, or its file was gone.
	lost bool
}

// bytes estimates the memory that the entry takes.
func (e *entry) bytes() int64 {
	n := int64(e.doc.DecodedBytes() + 2<<10)
	for _, info := range []os.FileInfo{e.session, e.pending} {
		if info != nil {
			n += info.Size()
		}
	}
	return n
}

// outline is the outline of a session file that this process wrote.
type outline struct {
	store.Outline
	session os.FileInfo
}

// load returns the session as it is on disk. The facts are those of the
// journal, to be folded first; there are none if the session was in memory.
// Even with an error the entry may report a lost session.
func (s *Store) load(ctx context.Context, token string) (*entry, []store.Fact, error) {
	session, err := stat(s.path(token, sessionSuffix))
	lost := errors.Is(err, errNotRegular)
	if lost {
		err = s.setAside(ctx, token, err)
	}
	if err != nil {
		return nil, nil, err
	}
	pending, err := stat(s.path(token, pendingSuffix))
	if err != nil {
		return nil, nil, err
	}
	if session == nil && !lost && s.wrote(token) {
		if err := s.missing(ctx, token); err != nil {
			return nil, nil, err
		}
		lost = true
	}
	cached, _ := s.entries.Get(token)
	if cached != nil && !lost && same(cached.session, session) {
		if same(cached.pending, pending) {
			return cached, nil, nil
		}
		if facts, ok := s.readMore(token, cached, pending); ok {
			return cached, facts, nil
		}
	}
	e := &entry{doc: &store.Document{}, session: session, pending: pending, lost: lost}
	if session != nil {
		if err := s.decode(ctx, token, e, cached); err != nil {
			return nil, nil, err
		}
	}
	if pending == nil {
		return e, nil, nil
	}
	data, err := os.ReadFile(s.path(token, pendingSuffix))
	if err != nil {
		return e, nil, err
	}
	facts, err := e.journal.read(data)
	if err != nil {
		err = s.mendJournal(ctx, token, e, facts, err)
	}
	return e, facts, err
}

// decode reads the session file of an entry. It sets a corrupt file aside.
func (s *Store) decode(ctx context.Context, token string, e, cached *entry) error {
	data, err := os.ReadFile(s.path(token, sessionSuffix))
	if err != nil {
		return err
	}
	if o, ok := s.outlines.Get(token); ok && same(o.session, e.session) && int64(len(data)) == e.session.Size() {
		e.doc, e.outline = o.Document(data), o
		return nil
	}
	var earlier *store.Document
	if cached != nil {
		earlier = cached.doc
		s.entries.Remove(token)
	}
	doc, err := store.Redecode(data, earlier)
	switch {
	case err == nil:
		e.doc = doc
	case errors.Is(err, store.ErrCorrupt):
		if err := s.setAside(ctx, token, err); err != nil {
			return err
		}
		e.session, e.lost = nil, true
	default:
		return err
	}
	return nil
}

// buffers are reused because a long session is a large file.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (s *Store) write(token string, e *entry) error {
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	raw, err := e.doc.AppendSession((*buf)[:0])
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	*buf = raw
	put := s.replace
	if e.session == nil {
		put = s.create
	}
	if e.session, err = put(s.path(token, sessionSuffix), raw); err != nil {
		return err
	}
	if e.outline == nil {
		e.outline = new(outline)
	}
	e.outline.session = e.session
	e.doc.Outline(&e.outline.Outline)
	s.outlines.Put(token, e.outline, e.outline.Bytes())
	return nil
}

// wrote reports whether this process knows of a session file.
func (s *Store) wrote(token string) bool {
	if e, ok := s.entries.Get(token); ok && e.session != nil {
		return true
	}
	o, ok := s.outlines.Get(token)
	return ok && o.session != nil
}

// forget drops a session from memory.
func (s *Store) forget(token string) {
	s.entries.Remove(token)
	s.outlines.Remove(token)
	s.indexes.Remove(token)
}
