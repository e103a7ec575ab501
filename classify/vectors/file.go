package vectors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"intenthint/internal/atomicfile"
)

// A model's vectors are in vectors-<key>.bin.
const (
	filePrefix = "vectors-"
	fileSuffix = ".bin"
	// Two files are kept: an operator may switch back to the previous model.
	keptFiles = 2
	// maxFileBytes is larger than any valid file.
	maxFileBytes = 1 << 30
	// A temporary file this old was left by a process that was killed.
	abandoned = time.Hour
)

func filePath(dir, key string) string { return filepath.Join(dir, filePrefix+key+fileSuffix) }

// readFile returns the content of a file and marks the file as used. Errors
// wrap [fs.ErrNotExist] or [errDamaged], or are the system's.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%w: not a regular file, or too large", errDamaged)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	// Without write permission no files can be removed either.
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return data, nil
}

// writeFile writes a file, readable by its owner alone, and removes old ones.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(path, filePrefix+"*.tmp", data, 0o600); err != nil {
		return err
	}
	return prune(dir)
}

// prune removes all files but those used last, and abandoned temporary files.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files, gone []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), filePrefix) {
			continue
		}
		switch filepath.Ext(e.Name()) {
		case fileSuffix:
			files = append(files, info)
		case ".tmp":
			if time.Since(info.ModTime()) > abandoned {
				gone = append(gone, info)
			}
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	gone = append(gone, files[min(keptFiles, len(files)):]...)
	var errs []error
	for _, info := range gone {
		err := os.Remove(filepath.Join(dir, info.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may remove it too
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
