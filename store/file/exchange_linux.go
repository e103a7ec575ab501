package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange makes two names mean each other's files, at once. An error says that
// nothing was changed.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// alone says whether nobody else has the file open: only then the system gives
// out a write lease.
func alone(f *os.File) bool {
	fd := f.Fd()
	if _, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
