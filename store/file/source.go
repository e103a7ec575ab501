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

// sourceFile names the event stream that the sessions are made from. A
// directory without it is new, or has lost its content.
const sourceFile = ".source"

// Source implements [store.Reader].
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
		return store.Source{}, fmt.Errorf("reading source of sessions: %w", err)
	}
	return out, nil
}

// Rebuilding implements [store.Rebuilder]. One process rebuilds at a time.
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
			s.log.ErrorContext(ctx, "releasing rebuild lock", "error", err)
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

// nextSource creates the file that becomes the source when a rebuild is done.
// If the directory is lost before that, the file is lost too and the rebuild
// fails.
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
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("session store lost during rebuild: %w", err)
	}
	return s.writeSource(f, source)
}

// SetSource implements [store.Rebuilder].
func (s *Store) SetSource(_ context.Context, source store.Source) error {
	// The temporary file is lost with the directory, after which there is nothing to rename.
	f, err := os.CreateTemp(s.path(tempDir, ""), sourceFile+".*")
	if err == nil {
		_, err = os.Stat(s.path(sourceFile, ""))
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return store.ErrNoSource
	}
	if err != nil {
		return fmt.Errorf("writing source of sessions: %w", err)
	}
	return s.writeSource(f, source)
}

// writeSource writes the source to a file, which becomes the source file.
func (s *Store) writeSource(f *os.File, source store.Source) error {
	data, err := json.Marshal(source)
	if err == nil {
		_, err = f.Write(append(data, '\n'))
	}
	if err == nil {
		err = s.disk.File(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.path(sourceFile, "")); err != nil {
		return err
	}
	return s.disk.Names()
}
