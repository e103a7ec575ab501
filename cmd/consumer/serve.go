package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nuid"

	"intenthint/handlers"
	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/internal/telemetry"
	"intenthint/store"
	"intenthint/subjects"
)

type runCmd struct{}

// Help is the longer text of `consumer run --help`.
func (runCmd) Help() string {
	return "Settings are environment variables, or fields of the JSON5 file that HINT_CONFIG names (an openclaw.json, or the plugin's config object alone); the environment wins.\n\n" + usage()
}

func (runCmd) Run(inv *invocation) error {
	if err := checkServer(inv.cfg); err != nil {
		return err
	}
	// Whoever reads the log may end before this process does.
	signal.Ignore(syscall.SIGPIPE)
	log, level := inv.logger()
	for _, w := range inv.warnings {
		log.Warn("configuration", "variable", w.Variable, "warning", w.Message)
	}
	log.Info("intenthint starts", "version", version, "config", inv.cfg)
	stopThrift := beThrifty()
	err := serve(inv.ctx, inv.cfg, log, level, nil)
	stopThrift()
	if err == nil {
		log.Info("intenthint has stopped")
	}
	return err
}

// checkServer refuses a server of this process that has no configuration or that
// everybody could use, before anything is begun.
func checkServer(cfg *config.Config) error {
	if len(cfg.Bus.URLs) > 0 {
		return nil
	}
	return embeddedOptions(cfg).Check()
}

// stopTime bounds a graceful stop: a request may have waited for its model for
// as long as it is allowed to. What is not finished by then is given up, and
// every event of it comes again to another process.
func stopTime(cfg *config.Config) time.Duration {
	return max(20*time.Second, cfg.Classifier.Timeout+10*time.Second)
}

// catchUpTime bounds how long a stop waits for events that are still coming in.
const catchUpTime = 2 * time.Second

// serve runs the system until ctx ends, and then stops it: no request that was
// taken stays unanswered, no event that was applied unacknowledged. level is
// the log's, which a reload may change. ready, when it is not nil, is called
// once requests are answered.
func serve(ctx context.Context, cfg *config.Config, log *slog.Logger, level *slog.LevelVar, ready func(*bus.Bus)) (err error) {
	began := time.Now()
	c := newConsumer(cfg, log, level)
	stopping, cancelStop := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelStop()
	defer func() {
		time.AfterFunc(stopTime(c.live.config()), cancelStop)
		err = errors.Join(err, c.cleanup.run(stopping))
	}()
	running, end := context.WithCancel(ctx)
	defer end() // before the clean-ups: they wait for what goes on in the background
	if err := c.start(running, stopping); err != nil {
		return stoppedEarly(ctx, err)
	}
	log.Info("ready", "took", time.Since(began).Round(time.Millisecond), "ofWhichNATS", c.connected.Sub(began).Round(time.Millisecond), "nats", c.requests.URL(), "classifier", c.live.describe(), "sessions", storeName(cfg))
	if ready != nil {
		ready(c.requests)
	}
	<-ctx.Done()
	log.Info("stopping")
	return nil
}

// consumer is a process that serves. The steps of its start fill it in.
type consumer struct {
	cfg     *config.Config
	layout  bus.Layout
	log     *slog.Logger
	metrics *telemetry.Metrics
	health  health
	live    *live
	loaded  chan error // what became of the intents
	cleanup cleanups   // run last in, first out
	// work is what goes on in the background. It uses the connections.
	work sync.WaitGroup

	// requests and events are connections of their own: a history of eight
	// megabytes must not stand before a request.
	requests, events *bus.Bus
	connected        time.Time
	sessions         sessionStore
	rebuilding       *rebuilder
	runs             *handlers.Runs
	turns            *turns
}

// newConsumer begins to read and to learn the intents, while the server starts.
func newConsumer(cfg *config.Config, log *slog.Logger, level *slog.LevelVar) *consumer {
	metrics := telemetry.NewMetrics(version)
	c := &consumer{
		cfg: cfg, layout: layoutOf(cfg), log: log, metrics: metrics,
		live: newLive(cfg, metrics, log, level), loaded: make(chan error, 1), runs: handlers.NewRuns(),
	}
	go func() { c.loaded <- c.live.load() }()
	return c
}

// start takes the steps of the start, in their order. What goes on in the
// background ends with ctx, requests that were taken with stopping.
func (c *consumer) start(ctx, stopping context.Context) error {
	for _, step := range []func(context.Context) error{c.listen, c.connect, c.openSessions, c.takeEvents, c.openTurns} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := c.takeRequests(stopping); err != nil {
		return err
	}
	c.work.Go(func() { c.live.watch(ctx) })
	c.work.Go(func() { c.rebuilding.watch(ctx, c.sessions) })
	c.work.Go(func() { sweep(ctx, c.sessions, c.cfg.Store.Retention, c.log) })
	c.health.serving.Store(true)
	c.cleanup.add("ready", func(context.Context) error { c.health.serving.Store(false); return nil })
	return nil
}

// listen begins with health and metrics: a process that waits for its server is
// alive and not ready, to whoever asks.
func (c *consumer) listen(ctx context.Context) error {
	stop, err := startHTTP(ctx, c.cfg, &c.health, c.metrics, c.log)
	if err != nil {
		return err
	}
	c.cleanup.add("http", stop)
	return nil
}

// connect connects to the server, or starts it, and makes what is missing there.
func (c *consumer) connect(ctx context.Context) (err error) {
	o := busOptions(c.cfg)
	// What this process tells the others it knows itself.
	o.Wait, o.NoEcho, o.Log = true, true, c.log
	if c.requests, err = bus.Open(ctx, o); err != nil {
		return err
	}
	c.connected = time.Now()
	c.cleanup.add("bus", func(context.Context) error { c.requests.Close(); return nil })

	if err := c.requests.CheckJetStream(ctx); err != nil {
		return err
	}
	if err := provision(ctx, c.requests, c.layout, c.log); err != nil {
		return err
	}
	if c.events, err = c.requests.Another(ctx, "intenthint events"); err != nil {
		return err
	}
	c.cleanup.add("event connection", func(context.Context) error { c.events.Close(); return nil })
	c.cleanup.add("background", func(ctx context.Context) error { return wait(ctx, &c.work) })
	return nil
}

// openSessions opens the store.
func (c *consumer) openSessions(ctx context.Context) error {
	c.rebuilding = newRebuilder(c.events.JS, c.layout, c.log)
	err := patiently(ctx, c.log, func(ctx context.Context) (err error) {
		c.sessions, err = openStore(ctx, c.cfg, c.events.JS, c.rebuilding.lost, c.log)
		return err
	})
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	source, err := c.sessions.Source(ctx)
	switch {
	case err != nil:
		return nil //nolint:nilerr // what cannot be read is made again
	case source.Stream == "":
		if err := c.rebuilding.begin(ctx, c.sessions); err != nil {
			c.log.Debug("it is not known yet whether the sessions are whole", "error", err)
		}
	case source.Stream != c.layout.Stream:
		return fmt.Errorf("the sessions in %s %w: of stream %s, not %s; another HINT_DATA_DIR or HINT_SESSIONS_DIR keeps the systems apart (without the file .source there, all of them become this one's)",
			storeName(c.cfg), errOthersSessions, source.Stream, c.layout.Stream)
	}
	return nil
}

// errOthersSessions: two systems would make sessions of one another's events.
var errOthersSessions = errors.New("are another system's")

// takeEvents begins to fold events into sessions.
func (c *consumer) takeEvents(ctx context.Context) error {
	var events *bus.Events[store.Fact]
	err := patiently(ctx, c.log, func(once context.Context) (err error) {
		events, err = bus.StartEvents(once, c.events.JS, c.layout, eventFunctions(c.sessions), c.metrics, c.log)
		return err
	})
	if err != nil {
		return err
	}
	// The turns of the last requests are events too: they are published by now,
	// and where this process owns the server, applied, before it goes.
	c.cleanup.add("events", func(ctx context.Context) error {
		if c.requests.Embedded() {
			events.CatchUp(ctx, catchUpTime)
		}
		return events.Stop(ctx)
	})
	c.health.follow(c.requests, c.events, events)
	return nil
}

// openTurns makes ready what tells the stream and the other processes of turns.
func (c *consumer) openTurns(ctx context.Context) error {
	publisher, err := bus.NewPublisher(c.requests.NC, c.metrics, c.log)
	if err != nil {
		return err
	}
	c.cleanup.add("publisher", func(ctx context.Context) error { publisher.Stop(ctx); return nil })

	c.turns = &turns{layout: c.layout, publisher: publisher, log: c.log}
	if c.turns.runs, err = bus.StartRuns(c.requests.NC, c.layout, nuid.Next(), c.runs.Learn); err != nil {
		return err
	}
	if err := bus.LearnRuns(ctx, c.requests.JS, c.layout, time.Now(), c.runs.Learn); err != nil {
		c.log.Warn("recent runs could not be read, a retry of one is classified anew", "error", err)
	}
	c.live.onModel(func() {
		open := func() error {
			claims, err := bus.OpenClaims(ctx, c.requests.JS, c.layout, c.log)
			if err == nil {
				c.turns.claims.Store(claims)
			}
			return err
		}
		if err := open(); err != nil {
			c.log.Warn("runs cannot be claimed yet: two requests for one run at once, in two processes, may ask the model twice", "error", err)
			c.work.Go(func() { every(ctx, claimPause, func() bool { return open() == nil }) })
		}
	})
	return nil
}

// takeRequests begins to answer. What was taken goes on until ctx ends.
func (c *consumer) takeRequests(ctx context.Context) error {
	hint := handlers.NewBeforePromptBuild(c.runs, c.turns, c.requests.NC.MaxPayload(), observer{c.metrics, c.log}, c.log)
	if err := <-c.loaded; err != nil {
		return err
	}
	if err := c.live.serve(hint); err != nil {
		return err
	}
	runner := handlers.NewRunner(c.live.hookTimeout, c.log)
	runner.On(subjects.HookBeforePromptBuild, "hint", 0, hint.Handle, hint.Omitted)

	service, err := bus.StartService(ctx, c.requests.NC, bus.ServiceOptions{
		Layout: c.layout, Version: version, Hooks: runner.Hooks(), Log: c.log,
		Immediate:  hint.Immediate, // the only handler
		Overloaded: func(r bus.Request) bus.Reply { return overloaded(c.metrics, r) },
		InFlight: func(delta int) {
			if delta > 0 {
				requestsCame.Add(1)
			}
			c.metrics.InFlight(delta)
		},
		Metadata: map[string]string{"prefix": c.cfg.Bus.Prefix, "stream": c.cfg.Bus.Stream, "store": c.cfg.Store.Kind},
	}, func(ctx context.Context, r bus.Request, reply func(bus.Reply)) {
		c.turns.runs.Settle(ctx)
		answer(ctx, runner, c.metrics, c.live.timeout(), r, reply)
	})
	if err != nil {
		return err
	}
	c.cleanup.add("requests", service.Stop)
	return nil
}

// stoppedEarly makes a signal during the start a normal end.
func stoppedEarly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the error is only how the signal looks
	}
	return err
}

// provision makes what is missing.
func provision(ctx context.Context, b *bus.Bus, layout bus.Layout, log *slog.Logger) error {
	return patiently(ctx, log, func(ctx context.Context) error {
		p, err := bus.Provision(ctx, b.JS, layout)
		for _, w := range p.Warnings {
			log.Warn("what is there is left as it is", "but", w, "see", "consumer stream plan")
		}
		if err != nil {
			return err
		}
		return bus.CheckRequests(ctx, b.JS, layout)
	})
}

// patiently does something again for as long as it fails for a reason that may
// go away: a cluster without a leader, a server that is being restarted.
func patiently(ctx context.Context, log *slog.Logger, do func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := do(once)
		cancel()
		if err == nil || !bus.Temporary(err) {
			return err
		}
		log.Warn("waiting for JetStream", "attempt", attempt, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(time.Duration(attempt)*250*time.Millisecond, 5*time.Second)):
		}
	}
}

// claimPause is how long after a failure claims are opened again.
const claimPause = 10 * time.Second

// every does something again and again until it is done or ctx ends.
func every(ctx context.Context, pause time.Duration, done func() bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if done() {
			return
		}
	}
}

// applier is a store that events become part of.
type applier interface {
	store.Applier
	// Check says whether facts can be applied at all now.
	Check(ctx context.Context) error
}

// eventFunctions say that events become facts of sessions.
func eventFunctions(sessions applier) bus.EventFunctions[store.Fact] {
	return bus.EventFunctions[store.Fact]{
		Decode: func(_, msgID string, data []byte) (bus.Event[store.Fact], error) {
			session, hook, fact, err := handlers.Fact(msgID, data)
			return bus.Event[store.Fact]{Session: session, Hook: hook, Fact: fact}, err
		},
		Apply: sessions.Apply,
		Check: sessions.Check,
	}
}
