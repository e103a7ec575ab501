//go:build e2e && linux

package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// terminal opens a pseudo-terminal: what a program sees, and the person.
func terminal(t *testing.T) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	control := func(request uintptr, value *uint32) {
		conn, err := person.SyscallConn()
		require.NoError(t, err)
		var failed syscall.Errno
		require.NoError(t, conn.Control(func(fd uintptr) {
			_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value)))
		}))
		require.Zero(t, failed)
	}
	var locked, number uint32
	control(syscall.TIOCSPTLCK, &locked)
	control(syscall.TIOCGPTN, &number)
	program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	return program, person
}

func TestIntentsExpandOnATerminal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		say     string
		colour  bool
		written bool
		code    int
	}{
		"yes":         {"y\r", true, true, 0},
		"no":          {"n\r", true, false, 1},
		"return":      {"\r", true, false, 1},
		"without":     {"yes\r", false, true, 0},
		"interrupted": {"", true, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, lamp := expandable(t)
			if !tc.colour {
				s.env["NO_COLOR"] = "1"
			}
			before, err := os.ReadFile(lamp)
			require.NoError(t, err)
			program, person := terminal(t)
			cmd := exec.Command(binary, "intents", "expand", "LAMP")
			cmd.Env, cmd.Dir = s.environ(), s.dir
			cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
			require.NoError(t, cmd.Start())
			require.NoError(t, program.Close())
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			screen := &output{}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = io.Copy(screen, person) // ends with the program
			}()
			require.Eventually(t, func() bool {
				return strings.Contains(screen.String(), "[y/N] ")
			}, patient, tick, "%q", screen)
			if tc.say == "" {
				require.NoError(t, cmd.Process.Signal(os.Interrupt))
			} else {
				_, err = io.WriteString(person, tc.say)
				require.NoError(t, err)
			}
			select {
			case <-gone:
			case <-time.After(patient):
				require.FailNow(t, "the program goes on", "%q", screen.String())
			}
			_ = cmd.Wait()
			require.Equal(t, tc.code, cmd.ProcessState.ExitCode(), screen.String())
			shown := screen.String()
			require.Contains(t, shown, "[                              ] 0/1 LAMP", "a bar")
			require.Contains(t, shown, "Add 1 example to 1 file in ")
			if tc.colour {
				require.Contains(t, shown, "\x1b[32m+  - it is too dark in here\x1b[m")
			} else {
				require.Contains(t, shown, "\n+  - it is too dark in here\r\n")
			}
			after, err := os.ReadFile(lamp)
			require.NoError(t, err)
			require.Equal(t, tc.written, string(before) != string(after))
			if !tc.written {
				require.Contains(t, shown, "nothing was changed")
			}
		})
	}
}
