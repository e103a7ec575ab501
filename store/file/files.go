package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"intenthint/store/file/internal/disk"
)

// tempDir holds files that are being written, and spare ones. probePrefix begins
// the names of those that [Store.Check] makes; versions before this one wrote
// files under names that begin with tempPrefix.
const (
	tempDir     = ".tmp"
	tempPrefix  = ".tmp-"
	probePrefix = ".probe-"
)

var (
	errNotRegular = errors.New("not a regular file")
	// A file of lines is left like that when the power fails, or when the
	// process is killed while it writes: the two look the same.
	errEmpty = errors.New("the file is empty")
	errNoEnd = errors.New("the last line has no end")
)

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

// same reports whether two stats are of one unchanged file.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// replace puts data into the file atomically and returns its new stat. Like
// everything that changes a file here it returns when a power loss can no
// longer undo it.
func (s *Store) replace(path string, data []byte) (os.FileInfo, error) {
	return s.put(path, data, disk.Exchange)
}

// create is replace for a file that is most likely not there yet.
func (s *Store) create(path string, data []byte) (os.FileInfo, error) {
	return s.put(path, data, func(string, string) error { return fs.ErrNotExist })
}

func (s *Store) put(path string, data []byte, exchange func(temp, path string) error) (os.FileInfo, error) {
	temp, info, err := s.writeTemp(data)
	if err != nil {
		return nil, err
	}
	if exchange(temp, path) == nil {
		// Not before the names are on the disk: until then a power loss makes
		// the replaced file the session again.
		if err := s.disk.Names(); err != nil {
			return nil, err
		}
		return info, s.spares.Put(temp)
	}
	// There is no such file yet, or the file system cannot exchange.
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(err, os.Remove(temp))
	}
	return info, s.disk.Names()
}

// writeTemp writes data to a file of mode 0600 that has no name yet which
// anybody looks at, and returns its path and its stat.
func (s *Store) writeTemp(data []byte) (path string, info os.FileInfo, err error) {
	temp := s.spares.Take()
	spare := temp != nil
	if !spare {
		if temp, err = s.createTemp(); err != nil {
			return "", nil, err
		}
	}
	_, err = temp.Write(data)
	if err == nil && spare {
		err = temp.Truncate(int64(len(data))) // it may be longer
	}
	if err == nil {
		err = s.disk.File(temp)
	}
	if err == nil {
		// Clocks of file systems tick every few milliseconds, and a file
		// system gives a new file the inode number of one just removed. The
		// precise time keeps two versions of one size apart.
		now := time.Now()
		err = os.Chtimes(temp.Name(), now, now)
	}
	if err == nil {
		info, err = temp.Stat()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return "", nil, errors.Join(fmt.Errorf("write %s: %w", temp.Name(), err), os.Remove(temp.Name()))
	}
	return temp.Name(), info, nil
}

// createTemp makes a file in a directory of its own: those who make files in
// one directory wait for each other, and for those who rename there. It creates
// what has vanished.
func (s *Store) createTemp() (*os.File, error) {
	dir := filepath.Join(s.dir, tempDir)
	temp, err := os.CreateTemp(dir, "*")
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.makeDirs(); err != nil {
			return nil, err
		}
		temp, err = os.CreateTemp(dir, "*")
	}
	return temp, err
}

// appendTo appends data in one write and returns the file's new stat. What a
// full disk takes of it is taken back.
func (s *Store) appendTo(path string, data []byte) (info os.FileInfo, err error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if n, err := f.Write(data); err != nil {
		return nil, errors.Join(err, takeBack(f, n))
	}
	if err := s.disk.File(f); err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if info.Size() == int64(len(data)) { // a new file
		return info, s.disk.Names()
	}
	return info, nil
}

// takeBack takes the last n bytes from a file, and the file when it was new.
func takeBack(f *os.File, n int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := info.Size() - int64(n); size > 0 {
		return f.Truncate(size)
	}
	return os.Remove(f.Name())
}
