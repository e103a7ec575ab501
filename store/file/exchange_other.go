//go:build !linux

package file

import (
	"errors"
	"os"
)

func exchange(string, string) error { return errors.ErrUnsupported }

func alone(*os.File) bool { return false }
