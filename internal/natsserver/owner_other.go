//go:build !unix

package natsserver

import "io/fs"

// noFollow has no meaning on this system.
const noFollow = 0

// ownedBy is not known on this system, whose temporary files are the user's own.
func ownedBy(fs.FileInfo, int) bool { return true }
