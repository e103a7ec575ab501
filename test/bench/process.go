package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is a running child. Each tells on its standard error, in one line of
// JSON, that it is ready, and at which URL there is NATS.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
	// url and took are known once it is ready: took since its start, and nats
	// of that for the server.
	url        string
	took, nats time.Duration
}

// startTime is the longest that a process may take to be ready.
const startTime = 2 * time.Minute

// launch starts a child and waits until it is ready.
func launch(ctx context.Context, cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	// Its end is how a role of this program learns that it is to stop, also
	// when this process is killed.
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan logLine, 1)
	go func() {
		defer close(p.done)
		for lines := bufio.NewReader(stderr); ; {
			line, err := lines.ReadBytes('\n')
			l, tell := parseLine(line)
			if tell {
				_, _ = os.Stderr.Write(line)
			}
			if l.Msg == "ready" {
				ready <- l
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case l := <-ready:
		p.took, p.url, p.nats = time.Since(began), l.NATS, l.OfWhichNATS
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("%s has ended instead of serving: %s", filepath.Base(cmd.Path), cmd.ProcessState)
	case <-ctx.Done():
		p.stop()
		return nil, ctx.Err()
	case <-time.After(startTime):
		p.stop()
		return nil, fmt.Errorf("%s is not ready after %s", filepath.Base(cmd.Path), startTime)
	}
}

// logLine is a line of a process's log: the one with the message "ready" says
// that it is.
type logLine struct {
	Level       string        `json:"level,omitempty"`
	Msg         string        `json:"msg"`
	NATS        string        `json:"nats"`
	OfWhichNATS time.Duration `json:"ofWhichNATS,omitempty"`
}

// parseLine reads a line of a process's standard error, and says whether a
// person should see it.
func parseLine(line []byte) (l logLine, tell bool) {
	if err := json.Unmarshal(line, &l); err != nil {
		return logLine{}, len(line) > 0
	}
	return l, l.Level == "WARN" || l.Level == "ERROR"
}

// sayReady is how a role of this program says that it is ready.
func sayReady(url string) error {
	return json.NewEncoder(os.Stderr).Encode(logLine{Msg: "ready", NATS: url})
}

// stop ends the process and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.stdin.Close()
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// tick is the unit of processor time in /proc, which Linux gives as a hundredth
// of a second to every program.
const tick = 10 * time.Millisecond

// processorTime is what the process has used of processors, for itself and in
// the kernel; 0 where there is no /proc.
func (p *process) processorTime() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return parseProcessorTime(stat)
}

// parseProcessorTime reads /proc/PID/stat.
func parseProcessorTime(stat []byte) time.Duration {
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * tick
}

// memory is what the process has in memory now and had at most, in bytes; 0
// where there is no /proc.
func (p *process) memory() (now, peak int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0
	}
	return parseMemory(status)
}

// parseMemory reads /proc/PID/status.
func parseMemory(status []byte) (now, peak int64) {
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

// copyTree copies a directory and syncs the copy to the disk, so that writing
// it back does not fall into a measurement.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
