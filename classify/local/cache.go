package local

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"intenthint/intents"
)

const (
	cachePrefix = "classifier-"
	cacheSuffix = ".bin"
	// cachedModels is how many models are kept: an operator who goes back to
	// the intents of before, and processes that share a directory, find theirs.
	cachedModels = 4
	// maxModelBytes is more than the model of any catalogue that can be used.
	maxModelBytes = 1 << 30
	// abandoned is the age of a temporary file that nobody is writing any more.
	abandoned = time.Hour
)

// TrainCached is [Train], but for a catalogue for which dir holds a model; of
// any other it leaves the model there, readable by its owner alone. dir is made
// when it is not there. Whatever is wrong with dir or the files in it costs the
// time of training, and a line in the log, and nothing else.
func TrainCached(dir string, cat *intents.Catalog, log *slog.Logger) *Model {
	began := time.Now()
	m, err := ReadCached(dir, cat)
	switch {
	case err == nil:
		log.Debug("classifier read", "dir", dir, "took", time.Since(began))
		return m
	case errors.Is(err, ErrDamaged):
		log.Warn("the cached classifier cannot be used, it is trained anew", "error", err)
	default:
		log.Debug("no cached classifier, it is trained", "error", err)
	}
	m = Train(cat)
	switch err := writeCached(dir, m); {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		log.Debug("the classifier is not cached", "error", err)
	case err != nil:
		log.Warn("the classifier is not cached, the next start trains it again", "error", err)
	}
	return m
}

// ReadCached returns the model that [TrainCached] left in dir for the catalogue.
// It changes no content. Errors wrap [fs.ErrNotExist] when there is none, and
// those of [Read].
func ReadCached(dir string, cat *intents.Catalog) (*Model, error) {
	id := identity(cat.Root())
	path := cachePath(dir, id)
	// Whoever opened a pipe would wait for a writer.
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxModelBytes {
		return nil, fmt.Errorf("%w: %s is not the file of one", ErrDamaged, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	m, err := read(cat, id, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// A model in use is not among the oldest. Where only reading is allowed,
	// nothing is removed either.
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return m, nil
}

func cachePath(dir string, id [sha256.Size]byte) string {
	return filepath.Join(dir, cachePrefix+hex.EncodeToString(id[:8])+cacheSuffix)
}

// writeCached writes the model's file and removes the oldest ones. The file
// appears complete or not at all; after a power failure it may be damaged, which
// its checksum tells, so that nothing waits for the disk.
func writeCached(dir string, m *Model) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := m.AppendBinary(nil)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, cachePrefix+"*.tmp") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), cachePath(dir, identity(m.catalog)))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return prune(dir)
}

// prune removes all models but the newest, and what a process that was killed
// left half written.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var models []fs.FileInfo
	var gone []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), cachePrefix) {
			continue
		}
		switch filepath.Ext(e.Name()) {
		case cacheSuffix:
			models = append(models, info)
		case ".tmp":
			if time.Since(info.ModTime()) > abandoned {
				gone = append(gone, e.Name())
			}
		}
	}
	slices.SortFunc(models, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range models[min(cachedModels, len(models)):] {
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
