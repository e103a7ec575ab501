package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll syncs everything on the file system of f.
func syncAll(f *os.File) error { return unix.Syncfs(int(f.Fd())) } //nolint:gosec // a descriptor is an int

// canSyncAll reports whether syncing the file system of dir is as good as
// syncing a file in it: the kernel must report write errors (since 5.8), and
// the file system must be one where the call reaches the disk.
func canSyncAll(dir string) bool {
	var system unix.Utsname
	var fs unix.Statfs_t
	var major, minor int
	if unix.Uname(&system) != nil || unix.Statfs(dir, &fs) != nil {
		return false
	}
	if _, err := fmt.Sscanf(unix.ByteSliceToString(system.Release[:]), "%d.%d", &major, &minor); err != nil || major < 5 || major == 5 && minor < 8 {
		return false
	}
	switch fs.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}
