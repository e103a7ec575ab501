//go:build linux || darwin || freebsd

package room

import (
	"os"
	"syscall"
)

// Free returns the bytes that this process may write to the file system of a
// directory; ok is false if unknown.
func Free(dir string) (n uint64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	blocks := s.Bavail
	if os.Geteuid() == 0 { // root may use the reserved blocks
		blocks = s.Bfree
	}
	return uint64(blocks) * uint64(s.Bsize), true //nolint:gosec,unconvert // their types differ between systems
}
