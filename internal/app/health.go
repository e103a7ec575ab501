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

// health is what /healthz and /readyz say. Healthy means that the process does
// its work, or waits for a server to do it with; ready means that a request
// sent now is answered.
type health struct {
	healthy, ready httpserver.Checks
	serving        atomic.Bool
}

// startHTTP serves /healthz, /readyz and /metrics, where one is wanted, and
// returns how to stop it.
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
	return server.Shutdown, nil
}

// follow adds what is there once the system is connected.
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
