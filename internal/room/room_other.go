//go:build !(linux || darwin || freebsd)

package room

// Free returns the bytes that this process may write to the file system of a
// directory; ok is false if unknown.
func Free(string) (n uint64, ok bool) { return 0, false }
