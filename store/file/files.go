package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// tempPrefix begins the names of files that are being written; probePrefix
// those that [Store.Check] makes.
const (
	tempPrefix  = ".tmp-"
	probePrefix = ".probe-"
)

var errNotRegular = errors.New("not a regular file")

// stat returns nil without an error when there is no such file.
func stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return info, nil
}

// same says whether two stats are of one unchanged file.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// replace puts data into the file atomically and returns its new stat.
func (s *Store) replace(path string, data []byte) (os.FileInfo, error) {
	temp, err := s.writeTemp(tempPrefix, data)
	if err != nil {
		return nil, err
	}
	// Clocks of file systems tick every few milliseconds, and a file system
	// gives a new file the inode number of one just removed. The precise time
	// keeps two versions of one size apart.
	now := time.Now()
	if err := os.Chtimes(temp, now, now); err != nil {
		return nil, errors.Join(err, os.Remove(temp))
	}
	info, err := os.Stat(temp)
	if err != nil {
		return nil, errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(err, os.Remove(temp))
	}
	return info, nil
}

// writeTemp writes data to a new file of mode 0600 in the directory of the
// store, which it creates when it has vanished, and returns the file's path.
func (s *Store) writeTemp(prefix string, data []byte) (string, error) {
	temp, err := os.CreateTemp(s.dir, prefix+"*")
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.makeDirs(); err != nil {
			return "", err
		}
		temp, err = os.CreateTemp(s.dir, prefix+"*")
	}
	if err != nil {
		return "", err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write %s: %w", temp.Name(), err), os.Remove(temp.Name()))
	}
	return temp.Name(), nil
}

// appendTo appends data in one write and returns the file's new stat.
func appendTo(path string, data []byte) (info os.FileInfo, err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	return f.Stat()
}
