package expand

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"intenthint/internal/atomicfile"
)

// ErrChanged is returned by [Replace] for a file with other content than expected.
var ErrChanged = errors.New("the file has changed")

// Replace atomically replaces the whole content of a file, before, by after. The
// file keeps its mode; a link is followed. A file with other content than before
// is not changed, and the error is [ErrChanged].
func Replace(path string, before, after []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return fmt.Errorf("%w: %s", ErrChanged, path)
	}
	// Watchers ignore names that do not end in .md.
	return atomicfile.Write(path, ".expand-*", after, info.Mode().Perm())
}
