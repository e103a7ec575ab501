package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"intenthint/internal/app"
	"intenthint/internal/app/apptest"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
	"intenthint/internal/porttest"
)

// Whoever watches the process learns while it waits for its server that it is
// alive and not ready.
func TestHealthIsAnsweredBeforeTheServerIs(t *testing.T) {
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

	url, err := net.ResolveTCPAddr("tcp", nats[len("nats://"):])
	require.NoError(t, err)
	begin(url.Port)
	require.Eventually(t, status("/readyz", http.StatusOK), time.Minute, 10*time.Millisecond)
	_, body = get("/healthz")
	require.Contains(t, body, "events")
}
