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

// SetSource notes that the sessions contain all that was applied of a stream.
func (s *Store) SetSource(_ context.Context, source store.Source) error {
	data, err := json.Marshal(source)
	if err != nil {
		return err
	}
	_, err = s.replace(s.path(sourceFile, ""), append(data, '\n'))
	return err
}

// Rebuilding makes the caller the one process that rebuilds this directory,
// until it calls release or dies. It is not ok while another process is.
func (s *Store) Rebuilding(ctx context.Context) (release func(), ok bool, err error) {
	if err := s.makeDirs(); err != nil {
		return nil, false, err
	}
	lock := flock.New(filepath.Join(s.dir, lockDir, "rebuild"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, false, err
	}
	return func() {
		if err := lock.Unlock(); err != nil {
			s.log.ErrorContext(ctx, "the lock on rebuilding was not released", "error", err)
		}
	}, true, nil
}
