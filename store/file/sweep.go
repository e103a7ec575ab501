package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"intenthint/store"
)

// strayAge is the age from which a temporary file counts as left by a dead
// process; writing takes milliseconds.
const strayAge = 10 * time.Minute

// Sweep implements [store.Sweeper]. It continues after a file that cannot be
// removed.
func (s *Store) Sweep(ctx context.Context, olderThan time.Duration) (removed int, err error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	errs := []error{s.sweepTemp()}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return removed, errors.Join(append(errs, err)...)
		}
		gone, err := s.sweep(ctx, file.Name(), olderThan)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		if gone {
			removed++
		}
	}
	return removed, errors.Join(errs...)
}

// sweepTemp removes the temporary files of dead processes. A live process loses
// only its spare files.
func (s *Store) sweepTemp() error {
	files, err := os.ReadDir(filepath.Join(s.dir, tempDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, file := range files {
		name := filepath.Join(tempDir, file.Name())
		stale, err := s.stale(name, strayAge)
		if err == nil && stale {
			err = os.Remove(s.path(name, ""))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweep checks one file and reports whether it removed a session.
func (s *Store) sweep(ctx context.Context, name string, olderThan time.Duration) (bool, error) {
	if strings.HasPrefix(name, probePrefix) {
		stale, err := s.stale(name, strayAge)
		if err != nil || !stale {
			return false, err
		}
		return false, os.Remove(s.path(name, ""))
	}
	if olderThan <= 0 {
		return false, nil
	}
	dot := strings.IndexByte(name, '.')
	if dot < 0 || !store.IsToken(name[:dot]) {
		return false, nil
	}
	token, suffix := name[:dot], name[dot:]
	var together []string // files that are removed together, once all are old
	switch suffix {
	case sessionSuffix, historySuffix:
		together = []string{historySuffix, sessionSuffix}
	case pendingSuffix:
		together = []string{pendingSuffix}
	default:
		// Setting a file aside keeps its mtime: the time is in its name.
		if at, ok := asideAt(suffix); ok && s.now().Sub(at) > olderThan {
			return false, os.RemoveAll(s.path(name, ""))
		}
		return false, nil
	}
	if stale, err := s.stale(name, olderThan); err != nil || !stale {
		return false, err
	}
	unlock, err := s.lock(ctx, token)
	if err != nil {
		return false, err
	}
	defer unlock()
	// Check again under the lock.
	for _, suffix := range together {
		stale, err := s.stale(token+suffix, olderThan)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !stale {
			return false, err
		}
	}
	s.forget(token)
	session := false
	for _, suffix := range together {
		err := os.Remove(s.path(token, suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		session = err == nil && suffix == sessionSuffix
	}
	return session, nil
}

func (s *Store) stale(name string, olderThan time.Duration) (bool, error) {
	info, err := os.Lstat(s.path(name, ""))
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	return s.now().Sub(info.ModTime()) > olderThan, nil
}

// Check implements [store.Applier].
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.makeDirs(); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, probePrefix+"*")
	if err != nil {
		return err
	}
	probe := f.Name()
	_, err = f.WriteString("probe\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(probe))
	}
	moved := probe + ".moved"
	if err := os.Rename(probe, moved); err != nil {
		return errors.Join(err, os.Remove(probe))
	}
	return os.Remove(moved)
}
