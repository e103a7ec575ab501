package disk

import (
	"errors"
	"os"
	"sync"
)

// maxSpares bounds the files that are kept for reuse: as many as are written at
// the same time.
const maxSpares = 64

// Spares are replaced files, kept under temporary names. The next write reuses
// one instead of creating a file: file systems are slow at creating a file in
// place of one just deleted. The zero value is empty and ready for use.
type Spares struct {
	mu    sync.Mutex
	paths []string
}

// Take opens a spare file that no other process has open. It returns nil if
// there are none.
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
		return nil // removed with its directory, or swept
	}
	if alone(f) {
		return f
	}
	// A reader still has the replaced file open.
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
