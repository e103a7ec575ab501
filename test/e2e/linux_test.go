//go:build e2e && linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// limitFiles limits the size of the files that the process writes, like a quota,
// until the returned function is called.
func (p *process) limitFiles(t *testing.T, most uint64) (lift func()) {
	t.Helper()
	var before syscall.Rlimit
	p.prlimit(t, nil, &before)
	p.prlimit(t, &syscall.Rlimit{Cur: most, Max: before.Max}, nil)
	return func() { p.prlimit(t, &before, nil) }
}

func (p *process) prlimit(t *testing.T, set, get *syscall.Rlimit) {
	t.Helper()
	if p.ended() {
		return
	}
	_, _, code := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.cmd.Process.Pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
	require.Zero(t, code, "prlimit: %s", code)
}

// smallDisk mounts a file system of the given size in bytes. It needs root.
func smallDisk(t *testing.T, dir string, size int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size))
	if errors.Is(err, syscall.EPERM) {
		t.Skip("only root can mount a small file system")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

// readOnly remounts the file system of smallDisk read-only, until the returned
// function is called.
func readOnly(t *testing.T, dir string) (writable func()) {
	t.Helper()
	require.Eventually(t, func() bool { return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "") == nil },
		patient, tick, "a file is being written")
	return func() { require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, "")) }
}

// memory returns the process's resident memory now and at its peak, in bytes.
func (p *process) memory() (now, peak int64) {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	for line := range bytes.Lines(status) {
		name, value, _ := strings.Cut(string(line), ":")
		kib, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, _ := strconv.ParseInt(kib, 10, 64)
		switch name {
		case "VmRSS":
			now = n << 10
		case "VmHWM":
			peak = n << 10
		}
	}
	return now, peak
}
