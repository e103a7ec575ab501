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

// tempDir holds files that are being written, and spare ones. probePrefix
// begins the names of files that [Store.Check] creates.
const (
	tempDir     = ".tmp"
	probePrefix = ".probe-"
)

var (
	errNotRegular = errors.New("not a regular file")
	// A power loss, or a process killed while writing, leaves a file of lines
	// in one of these states.
	errEmpty = errors.New("the file is empty")
	errNoEnd = errors.New("the last line has no end")
)

// mustStat returns [errNotRegular] for what is not a regular file: opening a
// pipe would block.
func mustStat(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return info, err
}

// stat is mustStat, but returns nil without an error when there is no such file.
func stat(path string) (os.FileInfo, error) {
	info, err := mustStat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// same reports whether two stats are of one unchanged file.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// replace atomically replaces the content of a file and returns its new stat.
// Like every function here that changes a file, it returns only when the change
// is durable.
func (s *Store) replace(path string, data []byte) (os.FileInfo, error) {
	return s.put(path, data, disk.Exchange)
}

// create is replace for a file that most likely does not exist yet.
func (s *Store) create(path string, data []byte) (os.FileInfo, error) {
	return s.put(path, data, func(string, string) error { return fs.ErrNotExist })
}

func (s *Store) put(path string, data []byte, exchange func(temp, path string) error) (os.FileInfo, error) {
	temp, info, err := s.writeTemp(data)
	if err != nil {
		return nil, err
	}
	if exchange(temp, path) == nil {
		// The names must be synced first: until then a power loss can restore
		// the replaced file as the session.
		if err := s.disk.Names(); err != nil {
			return nil, err
		}
		return info, s.spares.Put(temp)
	}
	// The file does not exist yet, or the file system cannot exchange names.
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(err, os.Remove(temp))
	}
	return info, s.disk.Names()
}

// writeTemp writes data to a temporary file of mode 0600 and returns its path
// and stat.
func (s *Store) writeTemp(data []byte) (path string, info os.FileInfo, err error) {
	temp := s.spares.Take()
	spare := temp != nil
	if !spare {
		// Not in the main directory: creations and renames there contend.
		if temp, err = s.createIn(tempDir, "*"); err != nil {
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
		// Clocks of file systems tick every few milliseconds, and a new file
		// can get the inode number of one just removed. The precise time
		// distinguishes two versions of equal size.
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

// createIn creates a file with a name of the pattern in a directory of the
// store, and missing directories too.
func (s *Store) createIn(dir, pattern string) (*os.File, error) {
	dir = filepath.Join(s.dir, dir)
	f, err := os.CreateTemp(dir, pattern)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.makeDirs(); err != nil {
			return nil, err
		}
		f, err = os.CreateTemp(dir, pattern)
	}
	return f, err
}

// appendTo appends data in one write and returns the file's new stat. A partial
// write, as on a full disk, is undone.
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

// takeBack truncates a file by n bytes, or removes it if it was new.
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
