//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
)

// binary is the program under test.
var binary string

// raceBuild means that the binary is built with the race detector, which is slow.
var raceBuild = os.Getenv("E2E_RACE") != ""

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "intenthint-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "consumer")
	args := []string{"build", "-o", binary}
	if raceBuild {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "intenthint/cmd/consumer")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// Times that the tests wait.
const (
	tick    = 10 * time.Millisecond
	patient = time.Minute
)

// visible is the time after which a turn or event must be in its session file
// (contract §8).
func visible() time.Duration {
	if raceBuild {
		return 5 * time.Second
	}
	return time.Second
}

// settings are environment variables.
type settings map[string]string

// system is a data directory and the processes that use it.
type system struct {
	t   *testing.T
	dir string // working directory of the processes, parent of everything
	env settings

	started []*process
}

// newSystem returns a system with an embedded server on a free port and without
// HTTP. Given settings are added or, when empty, removed.
func newSystem(t *testing.T, given ...settings) *system {
	t.Helper()
	dir := t.TempDir()
	s := &system{t: t, dir: dir, env: settings{
		"HINT_DATA_DIR":        filepath.Join(dir, "data"),
		"HINT_NATS_PORT":       strconv.Itoa(porttest.Free(t)),
		"HINT_HTTP_ADDR":       "off",
		"HINT_AUTH":            "off",    // auth_test.go is about it
		"HINT_EMBEDDING_MODEL": "off",    // training for it takes seconds
		"HINT_REPEAT":          "always", // most tests ask for hints in one session
		"HINT_MIN_CONFIDENCE":  "0",      // and with texts that mean nothing
	}}
	for _, g := range given {
		for name, value := range g {
			s.env[name] = value
			if value == "" {
				delete(s.env, name)
			}
		}
	}
	return s
}

// in returns the system for a subtest: failures and started processes belong to
// the subtest.
func (s *system) in(t *testing.T) *system {
	return &system{t: t, dir: s.dir, env: s.env}
}

func (s *system) url() string {
	if url := s.env["HINT_NATS_URL"]; url != "" {
		return url
	}
	return "nats://127.0.0.1:" + s.env["HINT_NATS_PORT"]
}

func (s *system) sessionsDir() string { return filepath.Join(s.env["HINT_DATA_DIR"], "sessions") }

// environ returns the environment of a process of the system.
func (s *system) environ() []string {
	out := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + os.TempDir()}
	for name, value := range s.env {
		out = append(out, name+"="+value)
	}
	return out
}

// command returns a process of the system that is not started yet.
func (s *system) command(args ...string) (cmd *exec.Cmd, stdout, stderr *output) {
	cmd = exec.Command(binary, args...)
	cmd.Env, cmd.Dir = s.environ(), s.dir
	stdout, stderr = &output{}, &output{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// result is the result of a command.
type result struct {
	code           int
	stdout, stderr string
}

// run runs a command to its end.
func (s *system) run(args ...string) result {
	s.t.Helper()
	p := s.start(args...)
	code := p.wait(patient)
	return result{code, p.stdout.String(), p.stderr.String()}
}

// process is a running consumer.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *output
	done           chan struct{}
}

// start starts a process, which is killed when the test ends.
func (s *system) start(args ...string) *process {
	s.t.Helper()
	cmd, stdout, stderr := s.command(args...)
	p := launch(s.t, cmd, stdout, stderr)
	s.started = append(s.started, p)
	return p
}

// launch starts a process, which is killed when the test ends.
func launch(t *testing.T, cmd *exec.Cmd, stdout, stderr *output) *process {
	t.Helper()
	require.NoError(t, cmd.Start())
	p := &process{t: t, cmd: cmd, stdout: stdout, stderr: stderr, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if raceBuild && strings.Contains(stderr.String(), "DATA RACE") {
			t.Errorf("process %d: the race detector found a race", cmd.Process.Pid)
		}
		if t.Failed() {
			t.Logf("process %d, %s, %s\nstdout:\n%sstderr:\n%s",
				cmd.Process.Pid, strings.Join(cmd.Args, " "), cmd.ProcessState, stdout.tail(), stderr.tail())
		}
	})
	return p
}

// serve starts more processes at the same time and waits until all, now inAll,
// answer requests.
func (s *system) serve(more, inAll int) []*process {
	s.t.Helper()
	var out []*process
	for range more {
		out = append(out, s.start())
	}
	s.ready(inAll, out...)
	return out
}

// running returns the processes of the system that have not ended.
func (s *system) running() []*process {
	var out []*process
	for _, p := range s.started {
		if !p.ended() {
			out = append(out, p)
		}
	}
	return out
}

// ready waits until n service instances answer a ping.
func (s *system) ready(n int, started ...*process) {
	s.t.Helper()
	seen := 0
	until := time.Now().Add(patient)
	for time.Now().Before(until) {
		for _, p := range started {
			require.False(s.t, p.ended(), "a process ended before it was ready:\n%s", p.stderr.tail())
		}
		if seen = len(ping(s.url(), n, 300*time.Millisecond)); seen >= n {
			return
		}
		time.Sleep(tick)
	}
	require.FailNow(s.t, "the system is not ready", "%d of %d instances answer", seen, n)
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill kills the process, as the kernel does without memory, and reaps it.
func (p *process) kill() {
	if !p.ended() {
		_ = p.cmd.Process.Kill()
	}
	<-p.done
}

// pause stops the process until it is resumed.
func (p *process) pause() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
}

func (p *process) resume() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGCONT))
}

// terminate asks the process to stop.
func (p *process) terminate() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
}

// wait returns the exit code of a process that ends within d.
func (p *process) wait(d time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(d):
		require.FailNow(p.t, "the process has not ended", "after %s:\n%s", d, p.stderr.tail())
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop terminates the process and expects exit code 0.
func (p *process) stop() {
	p.t.Helper()
	p.terminate()
	require.Zero(p.t, p.wait(patient), "exit code after SIGTERM:\n%s", p.stderr.tail())
}

// logs waits for a log line with all of the texts.
func (p *process) logs(texts ...string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.logged(texts...) }, patient, tick, "no log line with %q", texts)
}

func (p *process) logged(texts ...string) bool {
lines:
	for line := range strings.Lines(p.stderr.String()) {
		for _, text := range texts {
			if !strings.Contains(strings.ToLower(line), strings.ToLower(text)) {
				continue lines
			}
		}
		return true
	}
	return false
}

// output collects what a process writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// tail returns the end of the output, for the report of a failure.
func (o *output) tail() string {
	const most = 16 << 10
	text := o.String()
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return text
}

// write replaces a file atomically, as editors do.
func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	temp := path + ".new"
	require.NoError(t, os.WriteFile(temp, []byte(text), 0o600))
	require.NoError(t, os.Rename(temp, path))
}

// exists reports whether there is a file.
func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	require.NoError(t, err)
	return true
}
