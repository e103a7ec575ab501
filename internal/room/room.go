package room

import (
	"errors"
	"fmt"
)

// Least is the space, in bytes, below which a disk counts as full. It holds a
// session of a few turns or some events, and hardly more.
const Least = 64 << 10

// ErrFull reports a full disk.
var ErrFull = errors.New("no space left on the disk")

// Check returns an error that wraps [ErrFull] if the file system of a directory has
// less than [Least] bytes left. A directory that cannot be examined is not
// reported as full.
func Check(dir string) error {
	if free, ok := Free(dir); ok && free < Least {
		return fmt.Errorf("%w: %d bytes free in %s", ErrFull, free, dir)
	}
	return nil
}
