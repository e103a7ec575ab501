package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/internal/telemetry"
	"intenthint/store"
)

var (
	errNotServing   = errors.New("not serving")
	errDisconnected = errors.New("not connected to NATS")
)

// startHTTP serves /healthz, /readyz and /metrics, where one is wanted, and
// returns how to stop it. Healthy means that the process does its work; ready
// means that a request sent now is answered.
func startHTTP(ctx context.Context, cfg *config.Config, requests, eventBus *bus.Bus, events *bus.Events[store.Fact], serving *atomic.Bool, metrics *telemetry.Metrics, log *slog.Logger) (func(context.Context) error, error) {
	if cfg.HTTP.Addr == "" {
		return func(context.Context) error { return nil }, nil
	}
	connected := func(context.Context) error {
		if s := requests.NC.Status(); s != nats.CONNECTED {
			return fmt.Errorf("%w: %s", errDisconnected, s)
		}
		return nil
	}
	var healthy, ready telemetry.Checks
	healthy.Add("events", events.Check)
	ready.Add("nats", connected)
	ready.Add("jetstream", eventBus.CheckJetStream)
	ready.Add("serving", func(context.Context) error {
		if !serving.Load() {
			return errNotServing
		}
		return nil
	})
	server, err := telemetry.Listen(ctx, telemetry.Options{
		Addr: cfg.HTTP.Addr, Fixed: cfg.HTTP.Fixed, Live: &healthy, Ready: &ready, Metrics: metrics, Log: log,
	})
	if err != nil {
		return nil, err
	}
	return server.Shutdown, nil
}
