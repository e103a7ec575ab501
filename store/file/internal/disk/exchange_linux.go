package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Exchange swaps the files of two names atomically. After an error nothing has
// changed.
func Exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// alone reports whether the file has no other hard link and no other process
// has it open. The kernel grants a write lease only if no other process has it
// open.
func alone(f *os.File) bool {
	fd := f.Fd()
	var info unix.Stat_t
	if unix.Fstat(int(fd), &info) != nil || info.Nlink != 1 {
		return false
	}
	if _, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
