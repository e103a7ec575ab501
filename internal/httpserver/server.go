// Package httpserver serves HTTP for operators: /healthz, /readyz and /metrics
// (contract §9), and other handlers that parts of the program add.
package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"intenthint/internal/loglimit"
)

// Options configure a [Server].
type Options struct {
	// Addr is host:port.
	Addr string
	// Fixed means that the operator chose Addr: an address in use is an error.
	// Otherwise a free port of the same host is used instead.
	Fixed bool
	// Bases are the paths, "/base", under which a reverse proxy may pass requests on
	// that it does not strip; see [StripBase].
	Bases []string
	Log   *slog.Logger
}

// Server serves the added handlers.
type Server struct {
	listener net.Listener
	mux      *http.ServeMux
	http     *http.Server
	log      *slog.Logger
}

// Limits on a client, generous for a scraper and short for one that hangs.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// Listen opens the address. Connections wait until [Server.Serve]: an early
// client must not find only half of the handlers.
func Listen(ctx context.Context, o Options) (*Server, error) {
	listener, err := listen(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("serve HTTP at %s: %w", o.Addr, err)
	}
	mux := http.NewServeMux()
	s := &Server{
		listener: listener, mux: mux, log: o.Log,
		http: &http.Server{
			Handler:           StripBase(mux, o.Bases),
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          log.New(&errorLog{log: o.Log}, "", 0),
		},
	}
	return s, nil
}

// errorLog takes what the HTTP server says of connections, which anybody can make.
type errorLog struct {
	log   *slog.Logger
	lines loglimit.Limit
}

// Write implements [io.Writer].
func (e *errorLog) Write(line []byte) (int, error) {
	e.lines.Warn(e.log, "HTTP connection failed", "error", strings.TrimSpace(string(line)))
	return len(line), nil
}

// Serve begins to serve the added handlers, until [Server.Shutdown].
func (s *Server) Serve() {
	go func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("HTTP server ended", "error", err)
		}
	}()
}

func listen(ctx context.Context, o Options) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Addr)
	if err == nil || o.Fixed || !errors.Is(err, syscall.EADDRINUSE) {
		return listener, err
	}
	host, _, splitErr := net.SplitHostPort(o.Addr)
	if splitErr != nil {
		return nil, err
	}
	listener, freeErr := config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if freeErr != nil {
		return nil, errors.Join(err, freeErr)
	}
	o.Log.Warn("HTTP address in use, using a free port", "taken_address", o.Addr, "address", listener.Addr().String())
	return listener, nil
}

// Addr returns the address that is served, host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Handle adds a handler. Call it before [Server.Serve]. pattern is as in
// [http.ServeMux].
func (s *Server) Handle(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) }

// Shutdown stops listening and waits for requests in progress; if ctx ends
// first, their connections are closed.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	// The server closes its listener only once it serves.
	if closed := s.listener.Close(); !errors.Is(closed, net.ErrClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// Metrics answers /metrics from a registry.
func Metrics(registry *prometheus.Registry, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		Registry: registry,
		Timeout:  writeTimeout / 2,
	})
}

// ServeHTTP answers 200 when all checks pass, else 503, with a [Report] in both
// cases.
func (c *Checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	report := c.Run(r.Context())
	body, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		http.Error(w, "report of checks: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if report.Status != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(append(body, '\n')) // the client may have gone
}
