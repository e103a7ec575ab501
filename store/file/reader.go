package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"intenthint/store"
)

// Get implements [store.Reader]. It takes no lock: a session file is valid at
// every moment.
func (s *Store) Get(_ context.Context, session string) (json.RawMessage, error) {
	for _, token := range store.Tokens(session) {
		data, err := s.read(token)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading session %s: %w", token, err)
		}
		if data = bytes.TrimSpace(data); !json.Valid(data) || data[0] != '{' {
			return nil, fmt.Errorf("reading session %s: %w", token, store.ErrCorrupt)
		}
		if _, err := store.Summarize(data); err != nil {
			return nil, fmt.Errorf("reading session %s: %w", token, err)
		}
		return data, nil
	}
	return nil, fmt.Errorf("%w: %q", store.ErrNotFound, session)
}

// List implements [store.Reader]. It reads only files that have changed since
// the last call; of the others it checks size and modification time.
func (s *Store) List(ctx context.Context) ([]store.Summary, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	known := s.summaries.last()
	all, changed := make([]*summarized, 0, len(files)), false
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		token, ok := strings.CutSuffix(file.Name(), sessionSuffix)
		if !ok || !store.IsToken(token) {
			continue
		}
		summary, err := s.summarize(token, known[token])
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			s.log.WarnContext(ctx, "omitting corrupt session from list", "session", token, "error", err, "remedy", "consumer sessions rebuild "+token)
			continue
		}
		changed = changed || summary != known[token]
		all = append(all, summary)
	}
	if changed || len(all) < len(known) {
		s.summaries.keep(all)
	}
	slices.SortFunc(all, func(a, b *summarized) int { return a.Compare(b.Summary) })
	out := make([]store.Summary, len(all))
	for i, summary := range all {
		out[i] = summary.Summary
	}
	return out, nil
}

// Count implements [store.Reader].
func (s *Store) Count(context.Context) (int, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("counting sessions: %w", err)
	}
	n := 0
	for _, file := range files {
		if token, ok := strings.CutSuffix(file.Name(), sessionSuffix); ok && store.IsToken(token) {
			n++
		}
	}
	return n, nil
}

// summarize returns the summary of a session. It reuses known if the file has
// not changed.
func (s *Store) summarize(token string, known *summarized) (*summarized, error) {
	path := s.path(token, sessionSuffix)
	info, err := mustStat(path)
	if err != nil || known.of(info) {
		return known, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return known, err
	}
	summary, err := store.Summarize(data)
	summary.Token, summary.Updated = token, info.ModTime()
	return &summarized{summary, info.Size()}, err
}

// read reads a session file.
func (s *Store) read(token string) ([]byte, error) {
	path := s.path(token, sessionSuffix)
	if _, err := mustStat(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Retired implements [store.Reader]. Like Get it takes no lock.
func (s *Store) Retired(ctx context.Context, session string) ([]json.RawMessage, error) {
	for _, token := range store.Tokens(session) {
		turns, err := s.retired(ctx, token)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading history of session %s: %w", token, err)
		}
		return turns, nil
	}
	return nil, nil
}

func (s *Store) retired(ctx context.Context, token string) ([]json.RawMessage, error) {
	path := s.path(token, historySuffix)
	if _, err := mustStat(path); err != nil {
		return nil, err
	}
	// Another file may take its place meanwhile.
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	x := newIndex()
	if err := x.scan(f); err != nil {
		return nil, err
	}
	if x.reason != nil {
		s.log.WarnContext(ctx, "omitting corrupt lines of history", "session", token, "error", x.reason)
	}
	out := make([]json.RawMessage, 0, len(x.order))
	for _, l := range x.order {
		raw := make(json.RawMessage, l.length)
		if _, err := f.ReadAt(raw, l.offset); err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}
