package httpserver

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

	"github.com/prometheus/client_golang/prometheus"
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
	return Options{Addr: addr, Fixed: fixed, Log: slog.New(slog.NewTextHandler(log, nil))}, log
}

// serve serves checks at /readyz on a free port.
func serve(t *testing.T, checks *Checks) *Server {
	t.Helper()
	o, _ := options("127.0.0.1:0", true)
	s, err := Listen(t.Context(), o)
	require.NoError(t, err)
	s.Handle("GET /readyz", checks)
	s.Serve()
	return s
}

func TestChecksOverHTTP(t *testing.T) {
	live, ready := new(Checks), new(Checks)
	live.Add("events", func(context.Context) error { return nil })
	ready.Add("bus", func(context.Context) error { return nil })
	ready.Add("streams", func(context.Context) error { return errors.New("durable is missing") })
	for _, row := range []struct {
		name, method string
		checks       *Checks
		status       int
		body         string
	}{
		{"all well", http.MethodGet, live, 200, `{"status":"ok","checks":{"events":{"ok":true}}}`},
		{"one failed", http.MethodGet, ready, 503, `{"status":"failed","checks":{"bus":{"ok":true},"streams":{"ok":false,"reason":"durable is missing"}}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			row.checks.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), row.method, "/", nil))
			require.Equal(t, row.status, recorder.Code)
			require.Equal(t, "application/json; charset=utf-8", recorder.Header().Get("Content-Type"))
			require.JSONEq(t, row.body, recorder.Body.String())
		})
	}
}

func TestPartsAddToTheMux(t *testing.T) {
	o, _ := options("127.0.0.1:0", true)
	s, err := Listen(t.Context(), o)
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "intenthint_things_total", Help: "Things."}))
	s.Handle("GET /metrics", Metrics(registry, o.Log))
	s.Handle("GET /page/{name}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.PathValue("name")) }))
	s.Serve()
	for _, row := range []struct {
		name, path string
		status     int
		body       string
	}{
		{"metrics", "/metrics", 200, "intenthint_things_total 0"},
		{"a page", "/page/one", 200, "one"},
		{"nothing there", "/", 404, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, body := get(t, "http://"+s.Addr()+row.path)
			require.Equal(t, row.status, status)
			require.Contains(t, string(body), row.body)
		})
	}
	response, err := http.Post("http://"+s.Addr()+"/metrics", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, s.Shutdown(t.Context()))
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
	s := serve(t, new(Checks))
	status, body := get(t, "http://"+s.Addr()+"/readyz")
	require.Equal(t, 200, status)
	var report Report
	require.NoError(t, json.Unmarshal(body, &report))
	require.Equal(t, "ok", report.Status)
	require.NoError(t, s.Shutdown(t.Context()))
	var dialer net.Dialer
	_, err := dialer.DialContext(t.Context(), "tcp", s.Addr())
	require.Error(t, err)
}

func TestShutdownWaitsForAnswers(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	checks := new(Checks)
	checks.Add("slow", func(context.Context) error {
		close(asked)
		<-release
		return nil
	})
	s := serve(t, checks)
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
		s.Serve()
		require.NotEqual(t, taken, s.Addr())
		status, _ := get(t, "http://"+s.Addr()+"/readyz")
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, log.String(), "taken_address="+taken)
		require.Contains(t, log.String(), "address="+s.Addr())
	})
	t.Run("and one that cannot be opened at all is an error", func(t *testing.T) {
		o, _ := options("203.0.113.7:1", false)
		_, err := Listen(t.Context(), o)
		require.Error(t, err)
	})
}

// A client that is there at once waits until all handlers are.
func TestNobodyFindsHalfOfTheHandlers(t *testing.T) {
	o, _ := options("127.0.0.1:0", true)
	s, err := Listen(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
	early, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer func() { _ = early.Close() }()
	_, err = io.WriteString(early, "GET /late HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	s.Handle("GET /late", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	s.Serve()
	reply, err := io.ReadAll(early)
	require.NoError(t, err)
	require.Contains(t, string(reply), "here")
}

func TestShutdownWithoutServe(t *testing.T) {
	o, _ := options("127.0.0.1:0", true)
	s, err := Listen(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, s.Shutdown(t.Context()))
	again, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err, "the address is free again")
	require.NoError(t, again.Close())
}
