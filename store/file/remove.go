package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"intenthint/store"
	"intenthint/store/file/internal/disk"
	"intenthint/subjects"
)

// Remove implements [store.Remover]. The session file goes last: if the process
// dies before that, the session is still listed and can be removed again.
func (s *Store) Remove(ctx context.Context, token string) (removed []string, err error) {
	if !store.IsSession(token) {
		return nil, nil
	}
	unlock, err := s.lock(ctx, token)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s.forget(token)
	notRecorded := s.keepRemoved(ctx, token)
	removed, err = s.remove(token)
	if err == nil && notRecorded != nil {
		notRecorded = fmt.Errorf("%w: %w", store.ErrNotRecorded, notRecorded)
	}
	if err = errors.Join(err, notRecorded); err != nil {
		return removed, fmt.Errorf("removing session %s: %w", token, err)
	}
	return removed, nil
}

func (s *Store) remove(token string) (removed []string, err error) {
	if err := s.removeSpares(token); err != nil {
		return nil, err
	}
	if err := s.removeLosses(token); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	document := token + sessionSuffix
	var names []string
	for _, file := range files {
		// A token has no dot.
		if name := file.Name(); strings.HasPrefix(name, token+".") && name != document {
			names = append(names, name)
		}
	}
	for _, name := range append(names, document) {
		path := s.path(name, "")
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	if len(removed) == 0 {
		return nil, nil
	}
	return removed, s.disk.Names()
}

// removeSpares removes spare files that hold an earlier version of the session.
// A process whose spare file is gone creates a new one.
func (s *Store) removeSpares(token string) error {
	return s.removeIn(tempDir, func(path string) bool {
		data, err := os.ReadFile(path)
		if err != nil {
			return false // reused since
		}
		summary, err := store.Summarize(data)
		return err == nil && (subjects.Name(summary.SessionID) == token || subjects.Name(summary.SessionKey) == token)
	})
}

func (s *Store) removeLosses(token string) error {
	return s.removeIn(lostDir, func(path string) bool { return strings.HasPrefix(filepath.Base(path), token+".") })
}

// removeIn removes files of a directory of the store.
func (s *Store) removeIn(dir string, which func(path string) bool) error {
	files, err := os.ReadDir(filepath.Join(s.dir, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, file := range files {
		path := filepath.Join(s.dir, dir, file.Name())
		if !which(path) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removedDir holds a file for every removed session, with the names of its runs
// ([store.RemovedRun]), one a line.
const removedDir = ".removed"

// keepRemoved keeps the names of the session's runs before they are removed, of
// those that can be read. An error is no reason to keep the session: on a full disk,
// removing it frees space.
func (s *Store) keepRemoved(ctx context.Context, token string) error {
	document, unread := s.read(token)
	retired, unlisted := s.retired(ctx, token)
	var errs []error
	for _, err := range []error{unread, unlisted} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotRegular) {
			errs = append(errs, err)
		}
	}
	if names := store.RemovedRuns(token, document, retired); len(names) > 0 {
		errs = append(errs, s.writeRemoved(token, names))
	}
	return errors.Join(errs...)
}

func (s *Store) writeRemoved(token string, names []string) error {
	if err := os.MkdirAll(filepath.Join(s.dir, removedDir), 0o700); err != nil {
		return err
	}
	if _, err := s.appendTo(s.removedPath(token), []byte(strings.Join(names, "\n")+"\n")); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Join(s.dir, removedDir))
}

// removedRuns returns the names of the runs that were removed from a session.
func (s *Store) removedRuns(token string) ([]string, error) {
	data, err := os.ReadFile(s.removedPath(token))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(data)), err
}

func (s *Store) removedPath(token string) string {
	return filepath.Join(s.dir, removedDir, store.RemovedRun(token, ""))
}
