// Package app is the running system: it wires the parts together, starts them,
// reloads settings, rebuilds lost sessions, and stops without leaving a request
// unanswered. A test or another program can start it as a whole; it does not
// handle signals or the command line.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"intenthint/config"
	"intenthint/console"
	"intenthint/handlers"
	"intenthint/hint"
	"intenthint/hint/run"
	"intenthint/internal/access"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/internal/loglimit"
	"intenthint/internal/retry"
	"intenthint/part"
	"intenthint/store"
	"intenthint/subjects"
)

// Options of an [App].
type Options struct {
	// Version is the program's semantic version.
	Version string
	// Commit is what it was built from, "" if unknown.
	Commit string
	Log    *slog.Logger
	// Level is the level of Log; a configuration reload sets it.
	Level *slog.LevelVar
	// Ready, if not nil, is called by [App.Run] once requests are answered.
	Ready func()
	// Failed, if not nil, is called by [App.Run] with the error of a start that failed,
	// before anything is stopped.
	Failed func(error)
	// Listening, if not nil, is called by [App.Start] before it logs anything, with the link
	// to the pages, which signs in with the token that was made; "" if none are served.
	Listening func(link string)
	// Parts are parts in addition to those of the program. Their settings are those that
	// the configuration was loaded with.
	Parts []part.Part
	// LostCheck is the interval between checks for lost sessions; 0 means 5 s.
	LostCheck time.Duration
}

// App is one consumer process. The steps of [App.Start] fill it in.
type App struct {
	cfg     *config.Config
	opts    Options
	log     *slog.Logger
	lines   loglimit.Limit // of what gateways can cause
	layout  bus.Layout
	metrics *Metrics
	health  health
	live    *live
	// catalogued receives the result of reading the intents, loaded that of
	// reading them and training on them.
	catalogued, loaded chan error
	train              func()
	cleanup            cleanups // run last in, first out

	// end cancels background work, which the wait group work counts; giveUp
	// cancels requests and events in progress.
	end, giveUp context.CancelFunc
	grace       context.Context //nolint:containedctx // ended by giveUp
	work        sync.WaitGroup

	// requests and events are separate connections, so that an 8 MB history
	// cannot delay a request.
	requests, events *bus.Bus
	connected        time.Time
	sessions         store.Store
	rebuilding       *rebuilder
	fleet            *fleet
	answers          *run.Answers
	hinter           *hint.Hinter
	token            string                   // required by pages and HTTP APIs; "" for none
	guesses          *access.Guesses          // wrong tokens of all of them
	console          *console.Console         // nil if HINT_HTTP_ADDR is off
	parts            []part.Part              // all, in the order in which they start
	running          map[string]*part.Running // those that are on, by name
	lost             int                      // events that Stop could not publish
}

// New returns a system that can be started once.
func New(cfg *config.Config, o Options) *App {
	a := &App{
		cfg: cfg, opts: o, log: o.Log, running: map[string]*part.Running{},
		catalogued: make(chan error, 1), loaded: make(chan error, 1), answers: run.NewAnswers(o.Log), guesses: access.NewGuesses(),
	}
	a.metrics = NewMetrics(o.Version, o.Commit)
	a.live = newLive(cfg, a.metrics, o.Log, o.Level)
	a.parts = append(parts(a), o.Parts...)
	a.metrics.register(a.parts)
	a.layout = layoutOf(cfg, a.parts)
	a.fleet = newFleet(cmp.Or(o.LostCheck, rebuildCheck), o.Log)
	a.train = a.live.train
	return a
}

// load starts to load the intents and train on them.
func (a *App) load(context.Context) error {
	go func() {
		err := a.live.load()
		a.catalogued <- err
		if err == nil {
			a.train()
		}
		a.loaded <- err
		returnMemory()
	}()
	return nil
}

// Bus returns the connection on which requests are answered. It is valid once
// Start has returned.
func (a *App) Bus() *bus.Bus { return a.requests }

// Run starts the system, and stops it when ctx ends. Ending ctx is not an
// error, not even during the start.
func (a *App) Run(ctx context.Context) error {
	err := a.Start(ctx)
	if err == nil {
		if a.opts.Ready != nil {
			a.opts.Ready()
		}
		<-ctx.Done()
		a.log.Info("stopping")
	} else if ctx.Err() != nil {
		err = nil // the start was canceled
	} else if a.opts.Failed != nil {
		a.opts.Failed(err)
	}
	return errors.Join(err, a.Stop())
}

// Start returns once requests are answered. ctx cancels the start, and later
// the background work. Stop must be called in any case.
func (a *App) Start(ctx context.Context) error {
	began := time.Now()
	a.grace, a.giveUp = context.WithCancel(context.WithoutCancel(ctx))
	ctx, a.end = context.WithCancel(ctx)
	for _, step := range []func(context.Context) error{a.listen, a.trace, a.load, a.connect, a.openSessions, a.takeEvents, a.openParts, a.takeRequests, a.openLateParts} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	a.work.Go(func() { a.live.watch(ctx) })
	a.work.Go(func() { a.fleet.watch(ctx, a.instances) })
	a.work.Go(func() { a.rebuilding.watch(ctx, a.sessions, cmp.Or(a.opts.LostCheck, rebuildCheck)) })
	a.work.Go(func() { events.WatchStreams(ctx, a.events.JS, a.layout, a.metrics.events) })
	a.work.Go(func() { a.metrics.countSessions(ctx, a.sessions, a.log) })
	a.work.Go(func() { a.warnMissingPermissions(ctx) })
	a.work.Go(func() { returnBursts(ctx) })
	a.work.Go(func() { sweep(ctx, a.sessions, a.cfg.Store.Retention, a.log) })
	a.showSystem(ctx)
	a.health.serving.Store(true)
	a.cleanup.add("ready", func(context.Context) error { a.health.serving.Store(false); return nil })
	a.log.Info("ready", "took_ms", time.Since(began).Milliseconds(), "nats_ms", a.connected.Sub(began).Milliseconds(),
		"nats", a.requests.URL(), "classifier", a.live.describe(), "intents", a.live.intents(), "sessions", StoreName(a.cfg))
	return nil
}

// Stop ends the system: every accepted request is answered, every applied event
// is acknowledged. Work that is unfinished after [stopTime] is canceled; its
// events are redelivered to another process.
func (a *App) Stop() error {
	a.end() // before the clean-ups, which wait for background work
	patience := time.AfterFunc(a.stopTime(), a.giveUp)
	defer patience.Stop()
	defer a.giveUp()
	err := a.cleanup.run(a.grace)
	if a.lost > 0 {
		// The stream did not acknowledge them.
		a.log.Error("stopped with lost events", "events", a.lost)
	} else if err == nil {
		a.log.Info("stopped")
	}
	return err
}

// stopTime bounds a graceful stop. It is longer than any request may take: each may use
// all of its time waiting for its model.
func (a *App) stopTime() time.Duration {
	longest := a.live.config().Classifier.Timeout
	for _, r := range a.running {
		longest = max(longest, r.Longest)
		for _, h := range r.Hooks {
			if h.Timeout != nil {
				longest = max(longest, h.Timeout())
			}
		}
	}
	return max(20*time.Second, longest+10*time.Second)
}

// catchUpTime bounds how long Stop waits for events that still come in.
const catchUpTime = 2 * time.Second

// connect connects to the server, or starts it, and creates missing streams and
// durables.
func (a *App) connect(ctx context.Context) (err error) {
	o := BusOptions(a.cfg)
	o.As, o.Wait, o.Log = access.Consumer, true, a.log
	if a.requests, err = bus.Open(ctx, o); err != nil {
		return err
	}
	a.connected = time.Now()
	a.cleanup.add("bus", func(context.Context) error { a.requests.Close(); return nil })

	if err := a.requests.CheckJetStream(ctx); err != nil {
		return err
	}
	if err := a.identify(ctx); err != nil {
		return err
	}
	if a.events, err = a.requests.Another(ctx, "intenthint events"); err != nil {
		return err
	}
	a.metrics.requestsConnected.ask(a.requests.NC.IsConnected)
	a.metrics.eventsConnected.ask(a.events.NC.IsConnected)
	a.cleanup.add("event connection", func(context.Context) error { a.events.Close(); return nil })
	a.cleanup.add("background", func(ctx context.Context) error { return wait(ctx, &a.work) })
	return nil
}

// quietStart is how long training may take before the log mentions it: the
// built-in intents take a third of that.
const quietStart = time.Second

// trained waits until the local classifier has learnt the intents. Stop does not
// wait for it: 5,000 intents take 43 s (docs/scaling.md).
func (a *App) trained(ctx context.Context) error {
	slow := time.AfterFunc(quietStart, func() { a.log.Info("learning the intents", "intents", len(a.live.intentsInForce().Enabled())) })
	defer slow.Stop()
	select {
	case err := <-a.loaded:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openSessions opens the store once the catalogue is read: the catalogue and
// the rules determine which events begin turns.
func (a *App) openSessions(ctx context.Context) error {
	if err := <-a.catalogued; err != nil {
		return err
	}
	a.rebuilding = newRebuilder(a.events.JS, a.layout, a.live.settings, a.log)
	a.rebuilding.fleet, a.fleet.changed = a.fleet, func() { a.rebuilding.lost("") }
	err := retryTemporary(ctx, a.log, func(ctx context.Context) (err error) {
		a.sessions, err = OpenStore(ctx, a.cfg, a.events.JS, a.rebuilding.lost, a.log)
		return err
	})
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	stream, err := sourceOf(ctx, a.cfg, a.sessions)
	if err != nil {
		return err
	}
	if stream == "" {
		if err := a.rebuilding.begin(ctx, a.sessions); err != nil {
			a.log.Debug("session check failed, will retry", "error", err)
		}
	}
	return nil
}

// takeEvents starts to fold events into sessions.
func (a *App) takeEvents(ctx context.Context) error {
	handler := EventHandler(a.sessions, a.live.settings)
	handler.Decode = a.noticing(a.countingSkills(a.namingUnknown(handler.Decode)))
	var sink *events.Sink[store.Fact]
	err := retryTemporary(ctx, a.log, func(once context.Context) (err error) {
		sink, err = events.StartSink(once, events.SinkOptions[store.Fact]{
			Name: "sessions", JS: a.events.JS, Layout: a.layout, Handler: handler, Metrics: a.metrics.events, Log: a.log,
		})
		return err
	})
	if err != nil {
		return err
	}
	a.fleet.leave = sink.Leave
	// The last requests have published turn events. If this process owns the
	// server, they are applied before it stops.
	a.cleanup.add("events", func(ctx context.Context) error {
		if a.requests.Embedded() {
			sink.CatchUp(ctx, catchUpTime)
		}
		err := sink.Stop(ctx)
		if err == nil {
			a.rebuilding.vouchLast(ctx, a.sessions)
		}
		return err
	})
	a.health.follow(a.cfg, a.requests, a.events, sink)
	return nil
}

// takeRequests starts to answer requests.
func (a *App) takeRequests(ctx context.Context) error {
	if err := a.trained(ctx); err != nil {
		return err
	}
	a.live.serve(a.hinter)
	asking := newGateways(a.opts.Version, a.metrics.clockOff, a.log)
	var endpoints []bus.Endpoint
	for _, h := range handlers.Hooks(a.opened()...) {
		o := hook.Options{Timeout: h.Timeout, Budget: a.live.hookTimeout, Asked: asking.asked, Log: a.log}
		if o.Timeout == nil {
			o.Timeout = a.live.timeout
		}
		endpoints = append(endpoints, hook.NewRunner(h.Hook, o).Endpoint(a.layout.Prefix))
	}
	for _, r := range a.opened() {
		endpoints = append(endpoints, r.Endpoints...)
	}
	// Stop still answers the requests in progress, so they do not end with ctx.
	service, err := bus.StartService(a.grace, a.requests.NC, bus.ServiceOptions{
		Layout: a.layout, Name: subjects.ServiceName, Version: a.opts.Version, Metrics: a.metrics.service, Log: a.log,
		Description: "Answers OpenClaw decision hooks with a routing hint",
		Metadata:    a.metadata(),
	}, endpoints...)
	if err != nil {
		return err
	}
	a.fleet.self = service.ID()
	a.cleanup.add("requests", service.Stop)
	return retryTemporary(ctx, a.log, a.requests.Subscribed)
}

// metadata describes this process to the NATS service framework.
func (a *App) metadata() map[string]string {
	return map[string]string{
		"prefix": a.cfg.Bus.Prefix, "stream": a.cfg.Bus.Stream, "store": a.cfg.Store.Kind, "commit": a.opts.Commit,
		foldKey: strconv.Itoa(store.FoldVersion),
	}
}

// instances returns the running processes of this system, this one too: it asks by the
// other connection, since none receives what it sends itself.
func (a *App) instances(ctx context.Context) ([]bus.Instance, error) {
	all, err := bus.Instances(ctx, a.events.NC, subjects.ServiceName)
	// Its answer to itself goes to its own inbox.
	err = errors.Join(err, bus.Refused(a.requests.NC, cmp.Or(a.cfg.Bus.InboxPrefix, nats.InboxPrefix)))
	return slices.DeleteFunc(all, func(i bus.Instance) bool {
		return i.Metadata["prefix"] != a.cfg.Bus.Prefix || i.Metadata["stream"] != a.cfg.Bus.Stream
	}), err
}

// provision creates missing streams and durables, and waits for a server or
// cluster that is still starting.
func provision(ctx context.Context, b *bus.Bus, layout bus.Layout, log *slog.Logger) error {
	return retryTemporary(ctx, log, func(ctx context.Context) error {
		warnings, err := bus.Provision(ctx, b.JS, layout)
		for _, w := range warnings {
			log.Warn("stream or durable differs from the settings", "warning", w, "command", "consumer stream plan")
		}
		if err != nil {
			return err
		}
		return bus.CheckRequests(ctx, b.JS, layout)
	})
}

// startRetry bounds the pauses while NATS cannot serve yet: a cluster without a
// leader has one within seconds.
var startRetry = retry.Backoff{First: 250 * time.Millisecond, Max: 5 * time.Second}

// startTimeout bounds one attempt: longer than NATS waits for an answer by itself.
const startTimeout = 10 * time.Second

// retryTemporary retries do while it fails with a temporary error, such as a cluster
// without a leader or a server that restarts.
func retryTemporary(ctx context.Context, log *slog.Logger, do func(context.Context) error) error {
	policy := retry.Policy{Backoff: startRetry, Temporary: bus.Temporary, Failed: func(attempt int, _ time.Duration, err error) {
		log.Warn("waiting for NATS", "attempt", attempt, "error", err)
	}}
	return policy.Do(ctx, func(ctx context.Context) error {
		once, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		return do(once)
	})
}

// every calls done after each pause until it returns true or ctx ends. It is for
// work that comes round; what failed is retried with [retry.Policy].
func every(ctx context.Context, pause time.Duration, done func() bool) {
	for retry.Sleep(ctx, pause) == nil {
		if done() {
			return
		}
	}
}
