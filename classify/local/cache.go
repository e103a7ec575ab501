package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"syscall"
	"time"

	"intenthint/intents"
	"intenthint/internal/cachefile"
)

// cachedModels are the files of models. Some are kept: an operator who goes back
// to the intents of before, and processes that share a directory, find theirs.
var cachedModels = cachefile.Kind{Prefix: "classifier-", Suffix: ".bin", Keep: 4, MaxBytes: 1 << 30}

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
	data, err := cachedModels.Read(dir, cacheKey(id))
	if errors.Is(err, cachefile.ErrIrregular) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	m, err := read(cat, id, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cachedModels.Path(dir, cacheKey(id)), err)
	}
	return m, nil
}

func cacheKey(id [sha256.Size]byte) string { return hex.EncodeToString(id[:8]) }

func writeCached(dir string, m *Model) error {
	data, err := m.AppendBinary(nil)
	if err != nil {
		return err
	}
	return cachedModels.Write(dir, cacheKey(identity(m.catalog)), data)
}
