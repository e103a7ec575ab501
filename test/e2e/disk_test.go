//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
)

// get sends an HTTP request to the address in the settings.
func (s *system) get(path string) (status int, body string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.env["HINT_HTTP_ADDR"]+path, nil)
	require.NoError(s.t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	data, err := io.ReadAll(resp.Body)
	require.NoError(s.t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode, string(data)
}

// fill fills a disk with one file.
func fill(t *testing.T, dir string) (ballast string, size int64) {
	t.Helper()
	ballast = filepath.Join(dir, ".ballast")
	f, err := os.Create(ballast)
	require.NoError(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	size, err = f.Seek(0, io.SeekCurrent)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return ballast, size
}

// TestEventsWaitWhileTheyCannotBeWritten makes session files unwritable. Events
// wait in the stream, /healthz gives the reason, requests are answered, and the
// events are applied afterwards.
func TestEventsWaitWhileTheyCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		// disk means that the sessions are on a small disk of their own.
		disk   bool
		reason string
		spoil  func(t *testing.T, s *system, p *process) (mend func())
	}{
		{"the disk is full", true, "no space left", func(t *testing.T, s *system, _ *process) func() {
			ballast, _ := fill(t, s.sessionsDir())
			return func() { require.NoError(t, os.Remove(ballast)) }
		}},
		{"the disk has room for the smallest files", true, "no space left", func(t *testing.T, s *system, _ *process) func() {
			// 4 KiB stay free: enough for a check that writes a small file.
			ballast, size := fill(t, s.sessionsDir())
			require.NoError(t, os.Truncate(ballast, size-4096))
			return func() { require.NoError(t, os.Remove(ballast)) }
		}},
		{"the file system is read-only", true, "read-only file system", func(t *testing.T, s *system, _ *process) func() {
			return readOnly(t, s.sessionsDir())
		}},
		{"the quota is exhausted", false, "file too large", func(t *testing.T, _ *system, p *process) func() {
			return p.limitFiles(t, 0)
		}},
		{"the directory has vanished and cannot be created", false, "not a directory", func(t *testing.T, s *system, _ *process) func() {
			dir := s.sessionsDir()
			require.NoError(t, os.Rename(dir, dir+".away"))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
			return func() {
				require.NoError(t, os.Remove(dir))
				require.NoError(t, os.Rename(dir+".away", dir))
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			// The server is a process of its own and can still write.
			s, e := newExternalSystem(t)
			s.env["HINT_HTTP_ADDR"] = "127.0.0.1:" + strconv.Itoa(porttest.Free(t))
			if tc.disk {
				smallDisk(t, s.sessionsDir(), 1<<20)
			}
			e.start()
			p := s.serve(1, 1)[0]
			g := s.gateway()
			now := time.Now().UnixMilli()
			calls := []string{}
			more := func(from int) {
				for i := from; i < from+20; i++ {
					id := fmt.Sprintf("call-%02d", i)
					calls = append(calls, id)
					g.publish(toolCall("s1", "r1", id, "read", now+int64(i)))
				}
			}
			g.ask(turn{session: "s1", run: "r1", prompt: "Hello there.", ts: now})
			more(1)
			g.drained()

			mend := tc.spoil(t, s, p)
			more(21)
			var body string
			require.Eventually(t, func() bool {
				var status int
				status, body = s.get("/healthz")
				return status == http.StatusServiceUnavailable
			}, patient, 5*tick, "health fails: %s", lazy(func() string { return body }))
			require.Contains(t, body, tc.reason)
			status, body := s.get("/readyz")
			require.Equal(t, http.StatusOK, status, body)
			r := g.ask(turn{session: "s1", run: "r2", prompt: "What is on my calendar tomorrow?", ts: now + 1000})
			require.NotEmpty(t, r.hint, "a request needs no disk")
			ctx, cancel := context.WithTimeout(context.Background(), patient)
			defer cancel()
			durable, err := g.js.Consumer(ctx, "OPENCLAW_EVENTS", "intent-hint")
			require.NoError(t, err)
			info := durable.CachedInfo()
			require.NotZero(t, info.NumPending+uint64(info.NumAckPending), "events are acknowledged only when written")

			mend()
			worked(t, g.js, 2*time.Minute)
			d, there := s.document("s1")
			require.True(t, there)
			got, _ := d.turn("r1")
			require.Equal(t, calls, got.toolCallIDs())
			require.Equal(t, "r2", d.Current.RunID)
			require.Eventually(t, func() bool {
				status, body = s.get("/healthz")
				return status == http.StatusOK
			}, patient, 5*tick, "health is good again: %s", lazy(func() string { return body }))
			letters, err := g.js.Stream(ctx, "OPENCLAW_EVENTS_DLQ")
			require.NoError(t, err)
			require.Zero(t, letters.CachedInfo().State.Msgs, "dead letters")
			require.False(t, p.ended())
		})
	}
}

// TestCorruptSessionFiles damages files while the system runs. It goes on, keeps
// the damaged files aside, and other sessions are complete.
func TestCorruptSessionFiles(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	p := s.serve(1, 1)[0]
	g := s.gateway()
	now := time.Now().UnixMilli()
	spoilt := map[string]string{"cut": `{"sessionId": "cut", "current": {"ru`, "empty": "", "zeros": strings.Repeat("\x00", 512), "list": "[]"}
	sessions := []string{"whole"}
	for session := range spoilt {
		sessions = append(sessions, session)
	}
	for _, session := range sessions {
		g.ask(turn{session: session, run: session + "-r1", prompt: "Hello there.", ts: now})
		s.showsRun(session, session+"-r1", patient)
	}
	g.drained()
	for session, text := range spoilt {
		write(t, s.sessionFile(session), text)
	}
	for _, session := range sessions {
		g.ask(turn{session: session, run: session + "-r2", prompt: "Hello again.", ts: now + 1000})
		g.publish(toolCall(session, session+"-r2", session+"-c", "read", now+1010))
	}
	g.drained()
	for _, session := range sessions {
		d, there := s.document(session)
		require.True(t, there)
		require.Equal(t, session+"-r2", d.Current.RunID)
		require.Equal(t, []string{session + "-c"}, d.Current.toolCallIDs())
		aside, err := filepath.Glob(strings.TrimSuffix(s.sessionFile(session), ".json") + ".corrupt-*")
		require.NoError(t, err)
		if session == "whole" {
			require.Empty(t, aside)
			require.Len(t, d.History, 1)
			continue
		}
		require.Len(t, aside, 1, session)
		kept, err := os.ReadFile(aside[0])
		require.NoError(t, err)
		require.Equal(t, spoilt[session], string(kept))
	}
	p.stop()
}
