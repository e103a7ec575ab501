package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/internal/events"
	"intenthint/internal/httpserver"
	"intenthint/store"
)

var (
	errNotServing   = errors.New("not serving")
	errDisconnected = errors.New("not connected to NATS")
)

// health holds the checks of /healthz and /readyz. Healthy: the process works,
// or waits for its server. Ready: a request sent now is answered.
type health struct {
	healthy, ready httpserver.Checks
	serving        atomic.Bool
}

// startHTTP serves /healthz, /readyz and /metrics if an address is configured,
// and returns the function that stops the server.
func startHTTP(ctx context.Context, cfg *config.Config, h *health, metrics *Metrics, log *slog.Logger) (func(context.Context) error, error) {
	if cfg.HTTP.Addr == "" {
		return func(context.Context) error { return nil }, nil
	}
	h.ready.Add("serving", func(context.Context) error {
		if !h.serving.Load() {
			return errNotServing
		}
		return nil
	})
	server, err := httpserver.Listen(ctx, httpserver.Options{Addr: cfg.HTTP.Addr, Fixed: cfg.HTTP.Fixed, Log: log})
	if err != nil {
		return nil, err
	}
	server.Handle("GET /healthz", &h.healthy)
	server.Handle("GET /readyz", &h.ready)
	server.Handle("GET /metrics", httpserver.Metrics(metrics.Registry, log))
	log.Info("serving /healthz, /readyz and /metrics", "address", server.Addr())
	return server.Shutdown, nil
}

// follow adds the checks of the connected system.
func (h *health) follow(requests, eventBus *bus.Bus, sink *events.Sink[store.Fact]) {
	h.healthy.Add("events", sink.Check)
	h.ready.Add("nats", func(context.Context) error {
		if s := requests.NC.Status(); s != nats.CONNECTED {
			return fmt.Errorf("%w: %s", errDisconnected, s)
		}
		return nil
	})
	h.ready.Add("jetstream", eventBus.CheckJetStream)
}
