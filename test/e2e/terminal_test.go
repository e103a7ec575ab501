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

// terminal opens a pseudo-terminal: the ends of the program and of the user.
func terminal(t *testing.T) (program, user *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminal:", err)
	}
	t.Cleanup(func() { _ = user.Close() })
	control := func(request uintptr, value *uint32) {
		conn, err := user.SyscallConn()
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
	return program, user
}

// onTerminal starts the program on a terminal and returns it, its screen, the
// end of the user, and a channel that is closed when the program has ended.
func onTerminal(t *testing.T, s *system, args ...string) (cmd *exec.Cmd, screen *output, user *os.File, gone chan struct{}) {
	t.Helper()
	program, user := terminal(t)
	cmd = exec.Command(binary, args...)
	cmd.Env, cmd.Dir = s.environ(), s.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	require.NoError(t, cmd.Start())
	require.NoError(t, program.Close())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	screen, gone = &output{}, make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(screen, user) // ends with the program
	}()
	return cmd, screen, user, gone
}

// A start shows the settings that differ from the defaults, and on a terminal a
// command to try.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_LOG_FORMAT": "json", "HINT_STREAM": "OPENCLAW_EVENTS", "HINT_TIMEOUT_MS": "2500"})
	const try = `"msg":"try in another terminal","command":"consumer ask `
	cmd, screen, _, gone := onTerminal(t, s)
	require.Eventually(t, func() bool { return strings.Contains(screen.String(), try) }, patient, tick, "%q", screen)
	first, _, _ := strings.Cut(screen.String(), "\n")
	require.Contains(t, first, `"msg":"starting"`)
	require.Contains(t, first, fmt.Sprintf(`"config":{"natsPort":"%s","auth":"off","dataDir":"%s","httpAddr":"off","logFormat":"json","minConfidence":"0","repeat":"always","embeddingModel":"off","timeoutMs":"2.5s"}`, s.env["HINT_NATS_PORT"], s.env["HINT_DATA_DIR"]))
	require.Less(t, strings.Index(screen.String(), `"msg":"ready"`), strings.Index(screen.String(), try))

	other := s.start()
	other.logs(`"msg":"ready"`)
	other.stop()
	require.NotContains(t, other.stderr.String(), try, "not on a terminal")

	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	select {
	case <-gone:
	case <-time.After(patient):
		require.FailNow(t, "the program goes on", "%q", screen.String())
	}
	_ = cmd.Wait()
	require.Zero(t, cmd.ProcessState.ExitCode(), screen.String())
}
