package disk

import (
	"errors"
	"os"
	"sync"
)

// maxSpares bounds the files that are kept to be written again: as many as are
// written at the same time.
const maxSpares = 64

// Spares are files that were replaced, under names of temporary ones. The next
// write takes one of them instead of creating a file: file systems take their
// time to give a new file the place of one that was just deleted. The zero value
// has none.
type Spares struct {
	mu    sync.Mutex
	paths []string
}

// Take opens a spare file that nobody else has open; nil without one.
func (s *Spares) Take() *os.File {
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
	// A reader of the replaced file is not done yet: it keeps the file.
	_ = errors.Join(f.Close(), os.Remove(path))
	return nil
}

// Put keeps a file for a later write, or deletes it.
func (s *Spares) Put(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.paths) >= maxSpares {
		return os.Remove(path)
	}
	s.paths = append(s.paths, path)
	return nil
}
