// Package cachefile keeps files of data that can be computed again at any time.
// A file appears complete or not at all. Callers verify its content.
package cachefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"intenthint/internal/atomicfile"
)

// errIrregular reports a file that cannot be a cache file.
var errIrregular = errors.New("not a regular file of a possible size")

// abandoned is the age from which a temporary file is considered abandoned.
const abandoned = time.Hour

// Kind is one kind of files, which share directories with others.
type Kind struct {
	// Prefix and Suffix are around the key in a file's name.
	Prefix, Suffix string
	// Keep is how many files are kept: the newest.
	Keep int
	// MaxBytes is larger than any valid file of the kind.
	MaxBytes int64
}

// Path is where a key's file is.
func (k Kind) Path(dir, key string) string { return filepath.Join(dir, k.Prefix+key+k.Suffix) }

// Read returns the content of a key's file and makes the file one of the newest.
// It does not change content. Errors wrap [fs.ErrNotExist] if the file does not
// exist, or [errIrregular].
func (k Kind) Read(dir, key string) ([]byte, error) {
	path := k.Path(dir, key)
	// Opening a pipe would block until there is a writer.
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > k.MaxBytes {
		return nil, fmt.Errorf("%s: %w", path, errIrregular)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// Without write permission no file is removed either.
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return data, nil
}

// Write writes a key's file, readable by its owner alone, and removes the oldest
// ones. dir is made when it is not there.
func (k Kind) Write(dir, key string, data []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(k.Path(dir, key), k.Prefix+"*.tmp", data, 0o600); err != nil {
		return err
	}
	return k.prune(dir)
}

// prune removes all files but the newest, and temporary files left by killed
// processes.
func (k Kind) prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var gone []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), k.Prefix) {
			continue
		}
		switch filepath.Ext(e.Name()) {
		case k.Suffix:
			files = append(files, info)
		case ".tmp":
			if time.Since(info.ModTime()) > abandoned {
				gone = append(gone, e.Name())
			}
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range files[min(k.Keep, len(files)):] {
		gone = append(gone, info.Name())
	}
	var failed error
	for _, name := range gone {
		// Another process may have been faster.
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
