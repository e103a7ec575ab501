package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func options(addr string, fixed bool) (Options, *syncBuffer) {
	log := new(syncBuffer)
	return Options{
		Addr: addr, Fixed: fixed, Live: new(Checks), Ready: new(Checks), Metrics: NewMetrics("test"),
		Log: slog.New(slog.NewTextHandler(log, nil)),
	}, log
}

func TestEndpoints(t *testing.T) {
	o, _ := options("", false)
	o.Live.Add("events", func(context.Context) error { return nil })
	o.Ready.Add("bus", func(context.Context) error { return nil })
	o.Ready.Add("streams", func(context.Context) error { return errors.New("durable is missing") })
	o.Metrics.Hint("local", "A", time.Millisecond)
	handler := Handler(o)
	for _, tc := range []struct {
		row, method, path string
		status            int
		contentType, body string
	}{
		{"alive", http.MethodGet, "/healthz", 200, "application/json; charset=utf-8", `{"status":"ok","checks":{"events":{"ok":true}}}`},
		{"not ready", http.MethodGet, "/readyz", 503, "application/json; charset=utf-8", `{"status":"failed","checks":{"bus":{"ok":true},"streams":{"ok":false,"reason":"durable is missing"}}}`},
		{"head", http.MethodHead, "/healthz", 200, "application/json; charset=utf-8", ""},
		{"metrics", http.MethodGet, "/metrics", 200, "", `intenthint_hints_total{intent="A",source="local"} 1`},
		{"wrong method", http.MethodPost, "/healthz", 405, "", ""},
		{"wrong path", http.MethodGet, "/", 404, "", ""},
	} {
		t.Run(tc.row, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil))
			require.Equal(t, tc.status, recorder.Code)
			if tc.contentType != "" {
				require.Equal(t, tc.contentType, recorder.Header().Get("Content-Type"))
			}
			switch {
			case tc.path == "/metrics":
				require.Contains(t, recorder.Body.String(), tc.body)
			case tc.body != "" && tc.method == http.MethodGet:
				require.JSONEq(t, tc.body, recorder.Body.String())
			}
		})
	}
}

func get(t *testing.T, url string) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, body
}

func TestServerServesAndStops(t *testing.T) {
	o, log := options("127.0.0.1:0", true)
	s, err := Listen(t.Context(), o)
	require.NoError(t, err)
	status, body := get(t, "http://"+s.Addr()+"/healthz")
	require.Equal(t, 200, status)
	var report Report
	require.NoError(t, json.Unmarshal(body, &report))
	require.Equal(t, "ok", report.Status)
	require.Contains(t, log.String(), "address="+s.Addr())

	require.NoError(t, s.Shutdown(t.Context()))
	var dialer net.Dialer
	_, err = dialer.DialContext(t.Context(), "tcp", s.Addr())
	require.Error(t, err)
}

func TestShutdownWaitsForAnswers(t *testing.T) {
	o, _ := options("127.0.0.1:0", true)
	asked, release := make(chan struct{}), make(chan struct{})
	o.Ready.Add("slow", func(context.Context) error {
		close(asked)
		<-release
		return nil
	})
	s, err := Listen(t.Context(), o)
	require.NoError(t, err)
	answered := make(chan int, 1)
	go func() {
		defer close(answered)
		status, _ := get(t, "http://"+s.Addr()+"/readyz")
		answered <- status
	}()
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	close(release)
	require.Equal(t, 200, <-answered)
	require.NoError(t, <-stopped)
}

func TestTakenAddress(t *testing.T) {
	var config net.ListenConfig
	other, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	taken := other.Addr().String()

	t.Run("that was set is an error", func(t *testing.T) {
		o, _ := options(taken, true)
		_, err := Listen(t.Context(), o)
		require.ErrorContains(t, err, taken)
	})
	t.Run("that is the default moves", func(t *testing.T) {
		o, log := options(taken, false)
		s, err := Listen(t.Context(), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
		require.NotEqual(t, taken, s.Addr())
		status, _ := get(t, "http://"+s.Addr()+"/readyz")
		require.Equal(t, 200, status)
		require.Contains(t, log.String(), "taken="+taken)
		require.Contains(t, log.String(), "address="+s.Addr())
	})
	t.Run("and one that cannot be opened at all is an error", func(t *testing.T) {
		o, _ := options("203.0.113.7:1", false)
		_, err := Listen(t.Context(), o)
		require.Error(t, err)
	})
}
