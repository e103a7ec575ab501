package room

import (
	"errors"
	"fmt"
)

// Least is the free space, in bytes, below which a disk counts as full. It is less than
// the server needs to store the largest event.
const Least = 1 << 20

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
