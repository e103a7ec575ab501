package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"intenthint/store"
	"intenthint/store/file/internal/disk"
)

// lostDir holds an empty file for every loss, <token>.<mark>.
const lostDir = ".lost"

// MarkLost implements [store.Losses].
func (s *Store) MarkLost(_ context.Context, token string) error {
	f, err := s.createIn(lostDir, token+".*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), disk.SyncDir(filepath.Join(s.dir, lostDir)))
}

// Lost implements [store.Losses].
func (s *Store) Lost(context.Context) ([]store.Loss, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, lostDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []store.Loss
	for _, file := range files {
		if token, mark, ok := strings.Cut(file.Name(), "."); ok && store.IsToken(token) {
			out = append(out, store.Loss{Token: token, Mark: mark})
		}
	}
	return out, nil
}

// Recovered implements [store.Losses].
func (s *Store) Recovered(_ context.Context, loss store.Loss) error {
	err := os.Remove(filepath.Join(s.dir, lostDir, loss.Token+"."+loss.Mark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process did it, or the directory is lost
	}
	return err
}
