//go:build linux || darwin || freebsd

package main

import "syscall"

// freeBytes returns the bytes that may be written to the file system of a
// directory; ok is false if unknown.
func freeBytes(dir string) (n uint64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true //nolint:gosec,unconvert // their types differ between systems
}
