package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"intenthint/store"
)

// sourceFile says which event stream the sessions are made of. A directory
// without it is new, or has lost what was in it.
const sourceFile = ".source"

// Source returns the stream that all sessions here are known to be made of; the
// zero Source when none was set, as in a directory that was just made.
func (s *Store) Source(context.Context) (store.Source, error) {
	var out store.Source
	data, err := os.ReadFile(s.path(sourceFile, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return store.Source{}, fmt.Errorf("read the source of the sessions: %w", err)
	}
	return out, nil
}

// Rebuilding makes the caller the one process that rebuilds this directory,
// until it releases it or dies. It is not ok while another process is.
func (s *Store) Rebuilding(ctx context.Context) (r store.Rebuild, ok bool, err error) {
	if err := s.makeDirs(); err != nil {
		return r, false, err
	}
	lock := flock.New(filepath.Join(s.dir, lockDir, "rebuild"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return r, false, err
	}
	release := func() {
		if err := lock.Unlock(); err != nil {
			s.log.ErrorContext(ctx, "the lock on rebuilding was not released", "error", err)
		}
	}
	next, err := s.nextSource()
	if err != nil {
		release()
		return r, false, err
	}
	return store.Rebuild{
		Finish: func(_ context.Context, source store.Source) error { return s.setSource(next, source) },
		Release: func() {
			_ = os.Remove(next)
			release()
		},
	}, true, nil
}

// nextSource makes the file that becomes the source when a rebuild is done. If
// the directory is lost before that, so is this file, and what was rebuilt is
// not taken for all.
func (s *Store) nextSource() (path string, err error) {
	left, err := filepath.Glob(s.path(sourceFile, ".*"))
	if err != nil {
		return "", err
	}
	for _, path := range left {
		_ = os.Remove(path) // of a process that died
	}
	f, err := os.CreateTemp(s.dir, sourceFile+".*")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

func (s *Store) setSource(next string, source store.Source) error {
	data, err := json.Marshal(source)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("the sessions were lost while they were made again: %w", err)
	}
	if _, err = f.Write(append(data, '\n')); err == nil {
		err = s.disk.file(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, s.path(sourceFile, "")); err != nil {
		return err
	}
	return s.disk.names()
}
