package file

import (
	"os"
	"sync"

	"intenthint/store"
)

// summariesBytes bounds the summaries that are kept: about 50,000 sessions whose
// last prompt is of an ordinary size (400 bytes). The sessions beyond are read each
// time.
const summariesBytes = 32 << 20

// summaries are those of the last [Store.List], so that the next one reads only the
// files that have changed. The zero value is ready for use.
type summaries struct {
	mu    sync.Mutex
	known map[string]*summarized // by token; not changed any more
}

// summarized is the summary of a version of a file, which its size and its precise
// time of change name.
type summarized struct {
	store.Summary
	size int64
}

// of reports whether it is the summary of the file as it is; a nil one is of none.
func (s *summarized) of(info os.FileInfo) bool {
	return s != nil && s.size == info.Size() && s.Updated.Equal(info.ModTime())
}

// bytes estimates what a summary takes.
func (s *summarized) bytes() int {
	const fixed = 400 // the struct, its place in the map and the heads of its strings
	return fixed + len(s.Token) + len(s.SessionID) + len(s.SessionKey) + len(s.AgentID) + len(s.RunID) + len(s.Input) + len(s.Intent) + len(s.Ended)
}

// last returns those of the last list.
func (s *summaries) last() map[string]*summarized {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// keep replaces them, as far as there is room.
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
