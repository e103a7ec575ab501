//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/porttest"
)

// TestAFullDiskPasses fills the disk of the embedded server's store. Hints are
// given on, health says why, what a gateway publishes is refused, and everything
// that was answered is in its session within seconds of there being room
// (contract §9).
func TestAFullDiskPasses(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "kv"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, settings{
				"HINT_STORE": kind, "HINT_STREAM_MAX_BYTES": "16777216",
				"HINT_HTTP_ADDR": "127.0.0.1:" + strconv.Itoa(porttest.Free(t)),
			})
			smallDisk(t, s.env["HINT_DATA_DIR"], 48<<20)
			p := s.serve(1, 1)[0]
			g := s.gateway()
			now := time.Now().UnixMilli()
			var answered []string
			ask := func(n int) {
				for range n {
					run := fmt.Sprintf("r%02d", len(answered))
					r := g.ask(turn{session: "s", run: run, prompt: "What is on my calendar tomorrow?", ts: now + int64(len(answered))})
					require.NotEmpty(t, r.Header.Get("Hint-Intent"), "hints are given on")
					answered = append(answered, run)
				}
			}
			ask(3)
			g.drained()
			ballast, _ := fill(t, s.env["HINT_DATA_DIR"])

			full := time.Now()
			var body string
			fails := func(reason string) {
				require.Eventually(t, func() bool {
					var status int
					status, body = s.get("/healthz")
					return status == http.StatusServiceUnavailable && strings.Contains(body, reason)
				}, 5*time.Second, tick, "%s", lazy(func() string { return body }))
			}
			fails("no space left") // although nothing is stored
			t.Logf("health fails after %s", time.Since(full).Round(time.Millisecond))
			ask(3)
			fails("JetStream store cannot be written")
			ctx, cancel := context.WithTimeout(context.Background(), patient)
			_, err := g.js.PublishMsg(ctx, toolCall("s", "r00", "lost", "read", now+100).message())
			cancel()
			require.True(t, errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse), "%v", err)
			ask(10)

			require.NoError(t, os.Remove(ballast))
			free := time.Now()
			require.Eventually(t, func() bool {
				status, text := s.get("/healthz")
				body = text
				return status == http.StatusOK
			}, 10*time.Second, tick, "%s", lazy(func() string { return body }))
			g.publish(toolCall("s", "r00", "kept", "read", now+100))
			var d document
			require.Eventually(t, func() bool {
				d = document{}
				r := s.run("sessions", "show", "s")
				if r.code != 0 || json.Unmarshal([]byte(r.stdout), &d) != nil {
					return false
				}
				for _, run := range answered {
					if _, there := d.turn(run); !there {
						return false
					}
				}
				first, _ := d.turn("r00")
				return len(first.ToolCalls) == 1
			}, 10*time.Second, 5*tick, "all turns that were answered are shown: %+v", &d)
			t.Logf("all is well after %s", time.Since(free).Round(time.Millisecond))
			p.stop()
		})
	}
}

// TestAStopOnAFullDiskCountsWhatIsLost ends a process while its turns cannot be
// published.
func TestAStopOnAFullDiskCountsWhatIsLost(t *testing.T) {
	t.Parallel()
	s := newSystem(t, settings{"HINT_STREAM_MAX_BYTES": "16777216", "HINT_HTTP_ADDR": "127.0.0.1:" + strconv.Itoa(porttest.Free(t))})
	smallDisk(t, s.env["HINT_DATA_DIR"], 48<<20)
	p := s.serve(1, 1)[0]
	g := s.gateway()
	g.ask(turn{session: "s", run: "r0", prompt: "Hello there."})
	g.drained()
	fill(t, s.env["HINT_DATA_DIR"])
	// A small turn may fit into the last block that the disk has given to a file.
	long := strings.Repeat("Hello there. ", 700)
	for i := range 5 {
		g.ask(turn{session: "s", run: fmt.Sprintf("r%d", i+1), prompt: long})
	}
	require.Eventually(t, func() bool { status, _ := s.get("/healthz"); return status == http.StatusServiceUnavailable }, 5*time.Second, tick)
	began := time.Now()
	p.terminate()
	p.wait(patient)
	require.Less(t, time.Since(began), 15*time.Second)
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	require.Contains(t, lines[len(lines)-1], `"events":5`)
}

// TestAServerApartThatCannotWrite fills the disk of a server that is not the
// program's own. It must be restarted once there is room; the consumers do the
// rest.
func TestAServerApartThatCannotWrite(t *testing.T) {
	t.Parallel()
	s, e := newExternalSystem(t, settings{"HINT_STREAM_MAX_BYTES": "16777216", "HINT_HTTP_ADDR": "127.0.0.1:" + strconv.Itoa(porttest.Free(t))})
	e.opts.JetStreamMaxStore = 1 << 40
	smallDisk(t, e.opts.StoreDir, 48<<20)
	e.start()
	s.serve(1, 1)
	g := s.gateway()
	g.ask(turn{session: "s", run: "r0", prompt: "Hello there."})
	g.drained()
	ballast, _ := fill(t, e.opts.StoreDir)
	for i := range 5 {
		g.ask(turn{session: "s", run: fmt.Sprintf("r%d", i+1), prompt: "Hello there."})
	}
	var body string
	require.Eventually(t, func() bool {
		var status int
		status, body = s.get("/healthz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "not acknowledged")
	}, 5*time.Second, tick, "%s", lazy(func() string { return body }))
	require.NoError(t, os.Remove(ballast))
	e.stop()
	e.start()
	s.shows("s", patient, "all turns that were answered", func(d document) bool {
		for i := range 6 {
			if _, there := d.turn(fmt.Sprintf("r%d", i)); !there {
				return false
			}
		}
		return true
	})
	require.Eventually(t, func() bool { status, _ := s.get("/healthz"); return status == http.StatusOK }, 10*time.Second, tick)
}
