package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/internal/httpserver"
	"intenthint/internal/room"
	"intenthint/part"
)

var (
	errNotServing   = errors.New("not serving")
	errDisconnected = errors.New("not connected to NATS")
)

// health holds the checks of /healthz and /readyz. Healthy means that the
// process works or waits for its server: what is not healthy for minutes needs a
// person or a restart. Ready means that a request sent now is answered: what is not
// ready gets no traffic.
type health struct {
	healthy, ready httpserver.Checks
	serving        atomic.Bool
}

// listen serves /healthz, /readyz, /metrics and the pages if an address is
// configured. It comes first: a process that waits for its server is healthy
// but not ready.
func (a *App) listen(ctx context.Context) (err error) {
	if a.token, err = makeToken(a.cfg); err != nil {
		return err
	}
	if a.cfg.HTTP.Addr == "" {
		a.greet("")
		return nil
	}
	a.health.ready.Add("serving", func(context.Context) error {
		if !a.health.serving.Load() {
			return errNotServing
		}
		return nil
	})
	healthy := func() httpserver.Report { return a.health.healthy.Run(a.grace) }
	a.metrics.healthy.run.Store(&healthy)
	a.metrics.ready.ask(func() bool { return a.health.ready.Run(a.grace).Status == "ok" })
	server, err := httpserver.Listen(ctx, httpserver.Options{Addr: a.cfg.HTTP.Addr, Fixed: a.cfg.HTTP.Fixed, Bases: basesOf(a.cfg.HTTP.Public), Log: a.log})
	if err != nil {
		return err
	}
	signIn := a.token
	if a.cfg.HTTP.Token != "" {
		signIn = "" // a secret of the operator's, which belongs in no log
	}
	a.greet(SignInLink("http://"+dialableHTTP(server.Addr()), signIn))
	server.Handle("GET /healthz", &a.health.healthy)
	server.Handle("GET /readyz", &a.health.ready)
	server.Handle("GET /metrics", httpserver.Metrics(a.metrics.Registry, a.log))
	if err := a.serveConsole(server); err != nil {
		return errors.Join(err, server.Shutdown(ctx))
	}
	server.Serve()
	a.log.Info("serving /healthz, /readyz, /metrics and pages", "address", server.Addr())
	remove := noteHTTP(a.cfg, server.Addr(), a.log)
	a.cleanup.add("http", func(ctx context.Context) error { remove(); return server.Shutdown(ctx) })
	return nil
}

// The checks of /healthz.
const (
	checkServer      = "server"
	checkDisk        = "disk"
	checkEvents      = "events"
	checkEventRights = "event rights"
	checkStream      = "stream"
)

var healthChecks = []string{checkServer, checkDisk, checkEvents, checkEventRights, checkStream}

// follow adds the checks of the connected system.
func (h *health) follow(cfg *config.Config, requests, eventBus *bus.Bus, sink part.Taking) {
	h.healthy.Add(checkServer, requests.Check)
	h.healthy.Add(checkDisk, func(context.Context) error { return checkRoom(cfg, requests.Embedded()) })
	h.healthy.Add(checkEvents, sink.Check)
	h.healthy.Add(checkEventRights, eventBus.CheckDelivery)
	stream := streamCheck{grace: streamGrace, find: func(ctx context.Context) error {
		if eventBus.NC.Status() != nats.CONNECTED {
			return nil // it waits for its server
		}
		return bus.CheckStream(ctx, eventBus.JS, cfg.Bus.Stream)
	}}
	h.healthy.Add(checkStream, stream.check)
	h.ready.Add("server", func(ctx context.Context) error {
		if requests.Embedded() {
			return nil // requests are answered without a store
		}
		return requests.Check(ctx)
	})
	h.ready.Add("nats", func(ctx context.Context) error {
		if s := requests.NC.Status(); s != nats.CONNECTED {
			return fmt.Errorf("%w: %s", errDisconnected, s)
		}
		// A server that hangs keeps its connections.
		if err := requests.NC.FlushWithContext(ctx); err != nil {
			return fmt.Errorf("NATS server does not answer: %w", err)
		}
		return nil
	})
	h.ready.Add("jetstream", eventBus.CheckJetStream)
}

// checkRoom returns an error if a disk that this process stores on is full. It notices
// that even while nothing is stored.
func checkRoom(cfg *config.Config, embedded bool) error {
	var err error
	if embedded {
		err = room.Check(cfg.DataDir)
	}
	if err == nil && cfg.Store.Kind == config.StoreFile {
		err = room.Check(cfg.Store.SessionsDir)
	}
	return err
}

// streamGrace is how long the stream may be without an answer or a leader: a cluster that loses a
// server, or starts again, has a leader within seconds, and a restart of consumers
// would not help it.
const streamGrace = time.Minute

// streamCheck fails once the stream had no answer or no leader for the grace, as in a
// cluster that has lost most of its servers: connections stay up there, and pulls end
// without an error. It is not called concurrently.
type streamCheck struct {
	grace  time.Duration
	find   func(context.Context) error
	since  time.Time // of the failure; zero for none
	denied bool      // the user may not look at the stream
}

func (c *streamCheck) check(ctx context.Context) error {
	if c.denied {
		return nil
	}
	err := c.find(ctx)
	if err == nil || errors.Is(err, bus.ErrDenied) {
		c.since, c.denied = time.Time{}, err != nil
		return nil
	}
	if c.since.IsZero() {
		c.since = time.Now()
	}
	if failing := time.Since(c.since); failing >= c.grace {
		return fmt.Errorf("since %s: %w", c.since.UTC().Format(time.RFC3339), err)
	}
	return nil
}
