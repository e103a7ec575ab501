package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options are what [Listen] serves, and where.
type Options struct {
	// Addr is host:port.
	Addr string
	// Fixed says that the operator chose Addr: when it is taken, that is an
	// error. Otherwise a free port of the same host is taken instead.
	Fixed bool
	// Live are the checks of /healthz: the process is alive and none of its
	// loops is stuck. Ready are those of /readyz: it can serve.
	Live, Ready *Checks
	Metrics     *Metrics
	Log         *slog.Logger
}

// Server serves /healthz, /readyz and /metrics.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Limits on a client, generous for a scraper and short for one that hangs.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// Listen opens the address and serves until [Server.Shutdown].
func Listen(ctx context.Context, o Options) (*Server, error) {
	listener, err := listen(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("serve HTTP at %s: %w", o.Addr, err)
	}
	s := &Server{
		listener: listener,
		http: &http.Server{
			Handler:           Handler(o),
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		},
	}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("HTTP server ended", slog.Any("error", err))
		}
	}()
	o.Log.Info("serving /healthz, /readyz and /metrics", slog.String("address", s.Addr()))
	return s, nil
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
	o.Log.Warn("HTTP address is taken, using a free port instead",
		slog.String("taken", o.Addr), slog.String("address", listener.Addr().String()))
	return listener, nil
}

// Addr is the address that is served, host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Shutdown stops listening and waits for requests that are being answered;
// when ctx ends before them, their connections are closed.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// Handler answers /healthz, /readyz and /metrics.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", serveChecks(o.Live, o.Log))
	mux.Handle("GET /readyz", serveChecks(o.Ready, o.Log))
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics.Registry(), promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		Registry: o.Metrics.Registry(),
		Timeout:  writeTimeout / 2,
	}))
	return mux
}

// serveChecks answers 200 when all checks are well, else 503, with a [Report]
// either way.
func serveChecks(checks *Checks, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		report := checks.Run(r.Context())
		body, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			log.Error("report of checks", slog.Any("error", err))
			http.Error(w, "report of checks failed", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if report.Status != "ok" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write(append(body, '\n')) // The client may have gone.
	})
}
