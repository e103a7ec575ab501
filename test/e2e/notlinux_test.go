//go:build e2e && !linux

package e2e

import "testing"

func (*process) limitFiles(*testing.T, uint64) (lift func()) { return nothing }

func smallDisk(t *testing.T, _ string, _ int) {
	t.Helper()
	t.Skip("small disks need Linux")
}

func readOnly(*testing.T, string) (writable func()) { return nothing }

// memory is unknown on this system.
func (*process) memory() (now, peak int64) { return 0, 0 }
