package file

import (
	"errors"
	"os"
	"sync"
)

// maxSpares bounds the files that are kept to be written again: as many as are
// written at the same time.
const maxSpares = 64

// spares are files that were replaced, under names of temporary ones. The next
// write takes one of them instead of making a file: file systems take their time
// to give a new file a place of which an old one was deleted just before.
type spares struct {
	mu    sync.Mutex
	paths []string
}

// take opens a file that nobody reads any more; nil when there is none.
func (s *spares) take() *os.File {
	s.mu.Lock()
	if len(s.paths) == 0 {
		s.mu.Unlock()
		return nil
	}
	path := s.paths[0]
	s.paths = s.paths[1:]
	s.mu.Unlock()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil // gone with its directory, or swept
	}
	if alone(f) {
		return f
	}
	// A reader of what was replaced is not done yet: it keeps the file.
	_ = errors.Join(f.Close(), os.Remove(path))
	return nil
}

// put keeps a file for a later write, or deletes it.
func (s *spares) put(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.paths) >= maxSpares {
		return os.Remove(path)
	}
	s.paths = append(s.paths, path)
	return nil
}
