//go:build !linux

package disk

import "os"

// Other systems have no such call.
func syncAll(*os.File) error { return os.ErrInvalid }

func canSyncAll(string) bool { return false }
