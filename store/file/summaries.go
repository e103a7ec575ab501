package file

import (
	"os"
	"sync"

	"intenthint/store"
)

// summariesBytes bounds the memory of cached summaries: about 50,000 sessions
// whose last prompt has an ordinary size (400 bytes). Sessions beyond that are
// read each time.
const summariesBytes = 32 << 20

// summaries caches the summaries of the last [Store.List], so that the next
// call reads only files that have changed. The zero value is ready for use.
type summaries struct {
	mu    sync.Mutex
	known map[string]*summarized // by token; never modified
}

// summarized is the summary of one version of a file, identified by its size
// and its exact modification time.
type summarized struct {
	store.Summary
	size int64
}

// of reports whether s is the summary of the file in its current version; a nil
// s is not.
func (s *summarized) of(info os.FileInfo) bool {
	return s != nil && s.size == info.Size() && s.Updated.Equal(info.ModTime())
}

// bytes estimates the memory that a summary takes.
func (s *summarized) bytes() int {
	const fixed = 400 // the struct, its place in the map and the heads of its strings
	return fixed + len(s.Token) + len(s.SessionID) + len(s.SessionKey) + len(s.AgentID) + len(s.RunID) + len(s.Input) + len(s.Intent) + len(s.Ended)
}

// last returns the summaries of the last list.
func (s *summaries) last() map[string]*summarized {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// keep replaces the summaries, up to the size limit.
func (s *summaries) keep(all []*summarized) {
	known, bytes := make(map[string]*summarized, len(all)), 0
	for _, summary := range all {
		if bytes += summary.bytes(); bytes > summariesBytes {
			break
		}
		known[summary.Token] = summary
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = known
}
