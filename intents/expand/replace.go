package expand

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"intenthint/internal/atomicfile"
)

// ErrChanged is the error of [Replace] for a file that is not what it was.
var ErrChanged = errors.New("the file was changed meanwhile")

// Replace puts after in the place of before, the whole content of the file, so
// that whoever reads it sees the one or the other. The file keeps its mode; a
// link is followed. When the content is another one the file is left alone,
// with [ErrChanged].
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
	// A name that does not end in .md is no intent file to anybody who watches.
	return atomicfile.Write(path, ".expand-*", after, info.Mode().Perm())
}
