package expand

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"intenthint/intents"
	"intenthint/internal/atomicfile"
)

// ErrChanged is returned by [Replace] for a file with other content than expected.
var ErrChanged = errors.New("the file has changed")

// temporary is the pattern of temporary files. Readers of intents ignore hidden files.
const temporary = ".expand-*"

// Append atomically appends examples to a file of examples (see
// [intents.AppendExamples]): what others have added in the meantime stays. A new
// file gets the mode; one that exists keeps its own. A link is followed.
func Append(path string, examples []string, mode fs.FileMode) error {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, dangling := os.Lstat(path); dangling == nil {
			return err
		}
		target, err = path, nil
	}
	if err != nil {
		return err
	}
	before, err := intents.ReadExamples(os.DirFS(filepath.Dir(target)), filepath.Base(target))
	if err != nil {
		return err
	}
	if info, err := os.Stat(target); err == nil {
		mode = info.Mode().Perm()
	}
	after, err := intents.AppendExamples(before, examples)
	if err != nil {
		return err
	}
	return atomicfile.Write(target, temporary, after, mode)
}

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
	return atomicfile.Write(path, temporary, after, info.Mode().Perm())
}
