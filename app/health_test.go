package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
	"intenthint/internal/natstest"
	"intenthint/internal/porttest"
	"intenthint/test/faults"
)

// Whoever watches the process learns while it waits for its server that it is
// alive and not ready.
func TestHealthIsServedBeforeNATSIsReachable(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	begin := func(port int) *bus.Bus {
		b, err := bus.Open(t.Context(), bus.Options{Embedded: natsserver.Options{Port: port, DataDir: t.TempDir()}, Log: quiet})
		require.NoError(t, err)
		t.Cleanup(b.Close)
		return b
	}
	// A server says which port is free, and comes back to it.
	first := begin(server.RANDOM_PORT)
	nats := first.URL()
	first.Close()
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))
	cfg := apptest.Settle(t, map[string]string{"HINT_NATS_URL": nats, "HINT_HTTP_ADDR": address, "HINT_SESSIONS_DIR": filepath.Join(t.TempDir(), "sessions")})

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- app.New(cfg, app.Options{Version: "0.0.0", Log: quiet, Level: new(slog.LevelVar)}).Run(ctx)
	}()
	defer func() {
		cancel()
		require.NoError(t, <-ended)
	}()
	get := func(path string) (int, string) {
		r, err := http.Get("http://" + address + path)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r.StatusCode, string(body)
	}
	status := func(path string, want int) func() bool {
		return func() bool { got, _ := get(path); return got == want }
	}
	require.Eventually(t, status("/healthz", http.StatusOK), time.Minute, 10*time.Millisecond)
	code, body := get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "not serving")
	_, body = get("/metrics")
	for _, line := range []string{
		"intenthint_ready 0", `intenthint_nats_connected{connection="requests"} 0`, `intenthint_nats_connected{connection="events"} 0`,
		`intenthint_skips_total{kind="unsure",reason="low_confidence"} 0`,
		"intenthint_config_last_reload_successful 1",
	} {
		require.Contains(t, body, line+"\n", "while it waits for the server")
	}

	url, err := net.ResolveTCPAddr("tcp", nats[len("nats://"):])
	require.NoError(t, err)
	server := begin(url.Port)
	require.Eventually(t, status("/readyz", http.StatusOK), time.Minute, 10*time.Millisecond)
	_, body = get("/healthz")
	require.Contains(t, body, "events")
	metrics := func(lines ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, body := get("/metrics")
			return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(body, line+"\n") })
		}, time.Minute, 50*time.Millisecond, lines)
	}
	metrics(
		"intenthint_ready 1", `intenthint_nats_connected{connection="requests"} 1`, `intenthint_nats_connected{connection="events"} 1`,
		`intenthint_dead_letters_total{hook="agent_end",sink="sessions"} 0`, "intenthint_dead_letters_kept 0", "intenthint_sessions 0",
		`intenthint_requests_overloaded_total{endpoint="before_prompt_build"} 0`, fmt.Sprintf("intenthint_event_stream_limit_bytes %g", float64(cfg.Bus.StreamMaxBytes)),
	)
	server.Close()
	metrics("intenthint_ready 0", `intenthint_nats_connected{connection="requests"} 0`, `intenthint_nats_connected{connection="events"} 0`)
}

// A server that hangs keeps its connections, and answers nothing.
func TestNotReadyWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	proxy, err := faults.NewProxy("127.0.0.1", strings.TrimPrefix(natstest.Start(t, nil).ClientURL(), "nats://"))
	require.NoError(t, err)
	defer proxy.Close()
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Free(t))
	start(t, map[string]string{"HINT_NATS_URL": "nats://" + proxy.Addr(), "HINT_HTTP_ADDR": address})
	ready := func(want int, part string) func() bool {
		return func() bool {
			r, err := http.Get("http://" + address + "/readyz")
			if err != nil {
				return false
			}
			defer func() { _ = r.Body.Close() }()
			body, err := io.ReadAll(r.Body)
			return err == nil && r.StatusCode == want && strings.Contains(string(body), part)
		}
	}
	require.Eventually(t, ready(http.StatusOK, ""), time.Minute, 10*time.Millisecond)
	proxy.Freeze()
	require.Eventually(t, ready(http.StatusServiceUnavailable, "NATS server does not answer"), time.Minute, 10*time.Millisecond)
	proxy.Heal()
	require.Eventually(t, ready(http.StatusOK, ""), time.Minute, 10*time.Millisecond)
}
