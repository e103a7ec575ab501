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

// process is a running child process. It reports on its standard error, in one
// line of JSON, that it is ready, with the URL of its NATS server.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
	url   string
	// took is the time from the start to ready, nats the server's part of it.
	took, nats time.Duration
}

// startTime is the maximum for a process to become ready.
const startTime = 2 * time.Minute

// launch starts a child process and waits until it is ready.
func launch(ctx context.Context, cmd *exec.Cmd) (*process, error) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	p := &process{cmd: cmd, done: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	// The roles of this program stop at the end of their standard input, which
	// also comes when this process is killed.
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
		for lines := bufio.NewReader(stderr); err == nil; {
			var line []byte
			line, err = lines.ReadBytes('\n')
			l, show := parseLine(line)
			if show {
				_, _ = os.Stderr.Write(line)
			}
			if l.Msg == "ready" {
				ready <- l
			}
		}
		_ = cmd.Wait()
	}()
	select {
	case l := <-ready:
		p.took, p.url, p.nats = time.Since(began), l.NATS, time.Duration(l.NATSMs)*time.Millisecond
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("%s ended before it was ready: %s", filepath.Base(cmd.Path), cmd.ProcessState)
	case <-ctx.Done():
		p.stop()
		return nil, ctx.Err()
	case <-time.After(startTime):
		p.stop()
		return nil, fmt.Errorf("%s not ready after %s", filepath.Base(cmd.Path), startTime)
	}
}

// logLine is a line of a process's log. The process is ready with the message
// "ready".
type logLine struct {
	Level  string `json:"level,omitempty"`
	Msg    string `json:"msg"`
	NATS   string `json:"nats"`
	NATSMs int64  `json:"nats_ms,omitempty"` // the part of the start that NATS took
}

// parseLine reads a line of a process's standard error, and reports whether it
// should be shown.
func parseLine(line []byte) (l logLine, show bool) {
	if err := json.Unmarshal(line, &l); err != nil {
		return logLine{}, len(line) > 0
	}
	return l, l.Level == "WARN" || l.Level == "ERROR"
}

// writeReady reports that this process is ready.
func writeReady(url string) error {
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

// tick is the unit of processor time in /proc on Linux.
const tick = 10 * time.Millisecond

// proc reads one of the process's files in /proc, which is empty where there are
// none.
func (p *process) proc(name string) []byte {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, name))
	return data
}

// processorTime is the process's user and system time, 0 if unknown.
func (p *process) processorTime() time.Duration { return parseProcessorTime(p.proc("stat")) }

// memory is the process's resident memory now and at its peak, in bytes, 0 if
// unknown.
func (p *process) memory() (now, peak int64) { return parseMemory(p.proc("status")) }

// parseProcessorTime reads /proc/PID/stat.
func parseProcessorTime(stat []byte) time.Duration {
	// The program's name, in brackets, may hold any character.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * tick
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

// copyTree copies a directory and syncs the copy to the disk, so that it is not
// written back during a measurement.
func copyTree(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.Open(path) //nolint:gosec // the copy just made
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	})
}
