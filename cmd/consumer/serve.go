package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/eligibility"
	"intenthint/handlers"
	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/internal/fair"
	"intenthint/internal/telemetry"
	"intenthint/payload"
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
	metrics := telemetry.NewMetrics(version)

	// The server starts while the intents are read and learnt.
	live := newLive(cfg, metrics, log, level)
	loaded := make(chan error, 1)
	go func() { loaded <- live.load() }()

	// Clean-ups run last in, first out.
	var cleanup cleanups
	stopping, cancelStop := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelStop()
	defer func() {
		time.AfterFunc(stopTime(live.config()), cancelStop)
		err = errors.Join(err, cleanup.run(stopping))
	}()
	// A process that waits for its server is alive and not ready, to whoever asks.
	var health health
	stopHTTP, err := startHTTP(ctx, cfg, &health, metrics, log)
	if err != nil {
		return err
	}
	cleanup.add("http", stopHTTP)

	o := busOptions(cfg)
	// What this process tells the others it knows itself.
	o.Wait, o.NoEcho, o.Log = true, true, log
	requests, err := bus.Open(ctx, o)
	if err != nil {
		return stoppedEarly(ctx, err)
	}
	connected := time.Since(began)
	cleanup.add("bus", func(context.Context) error { requests.Close(); return nil })

	if err := requests.CheckJetStream(ctx); err != nil {
		return err
	}
	layout := layoutOf(cfg)
	if err := provision(ctx, requests, layout, log); err != nil {
		return stoppedEarly(ctx, err)
	}
	// Events come over a connection of their own: a history of eight megabytes
	// must not stand before a request.
	eventBus, err := requests.Another(ctx, "intenthint events")
	if err != nil {
		return stoppedEarly(ctx, err)
	}
	cleanup.add("event connection", func(context.Context) error { eventBus.Close(); return nil })
	// What works in the background uses these connections.
	var work sync.WaitGroup
	cleanup.add("background", func(ctx context.Context) error { return wait(ctx, &work) })
	rebuilding := newRebuilder(eventBus.JS, layout, log)
	var sessions sessionStore
	err = patiently(ctx, log, func(ctx context.Context) (err error) {
		sessions, err = openStore(ctx, cfg, eventBus.JS, rebuilding.lost, log)
		return err
	})
	if err != nil {
		return stoppedEarly(ctx, fmt.Errorf("sessions: %w", err))
	}

	// Turns go to the stream over a connection of their own: a reply does not
	// wait for the server to take them in. To a server that outlives this
	// process they leave before the reply does.
	var through []nats.Option
	if !requests.Embedded() {
		through = append(through, nats.WriteBufferSize(1))
	}
	begun, err := requests.Another(ctx, "intenthint turns", through...)
	if err != nil {
		return stoppedEarly(ctx, err)
	}
	cleanup.add("turns", func(context.Context) error { begun.Close(); return nil })
	publisher, err := bus.NewPublisher(begun.NC, metrics, log)
	if err != nil {
		return err
	}

	turns := &turns{layout: layout, publisher: publisher, log: log}
	runs := handlers.NewRuns()
	origin := nuid.Next()
	if turns.runs, err = bus.StartRuns(requests.NC, layout, origin, runs.Learn); err != nil {
		return err
	}
	if err := bus.LearnRuns(ctx, requests.JS, layout, time.Now(), runs.Learn); err != nil {
		log.Warn("recent runs could not be read, a retry of one is classified anew", "error", err)
	}
	live.onModel(func() {
		open := func() error {
			claims, err := bus.OpenClaims(ctx, requests.JS, layout, origin, log)
			if err == nil {
				turns.claims.Store(claims)
			}
			return err
		}
		if err := open(); err != nil {
			log.Warn("runs cannot be claimed yet: two requests for one run at once, in two processes, may ask the model twice", "error", err)
			work.Go(func() { every(ctx, claimPause, func() bool { return open() == nil }) })
		}
	})

	hint := handlers.NewBeforePromptBuild(runs, turns, requests.NC.MaxPayload(), observer{metrics, log}, log)
	if err := <-loaded; err != nil {
		return err
	}
	if err := live.serve(hint); err != nil {
		return err
	}
	runner := handlers.NewRunner(live.hookTimeout, log)
	runner.On(subjects.HookBeforePromptBuild, "hint", 0, hint.Handle, hint.Omitted)

	events, err := startEvents(ctx, eventBus, layout, sessions, metrics, log)
	if err != nil {
		return stoppedEarly(ctx, err)
	}
	health.follow(requests, eventBus, events)

	service, err := bus.StartService(stopping, requests.NC, bus.ServiceOptions{
		Layout: layout, Version: version, Hooks: runner.Hooks(), Log: log,
		Immediate:  hint.Immediate, // the only handler
		Overloaded: func(r bus.Request) bus.Reply { return overloaded(metrics, r) },
		InFlight: func(delta int) {
			if delta > 0 {
				requestsCame.Add(1)
			}
			metrics.InFlight(delta)
		},
		Metadata: map[string]string{"prefix": cfg.Bus.Prefix, "stream": cfg.Bus.Stream, "store": cfg.Store.Kind},
	}, func(ctx context.Context, r bus.Request, reply func(bus.Reply)) {
		turns.runs.Settle(ctx)
		answer(ctx, runner, metrics, live.timeout(), r, reply)
	})
	if err != nil {
		bounded, cancel := context.WithTimeout(stopping, stopTime(cfg))
		defer cancel()
		return errors.Join(err, events.Stop(bounded))
	}
	// The turns of the last requests are events too: they are published, and
	// where this process owns the server, applied, before it goes.
	cleanup.add("events", func(ctx context.Context) error {
		if requests.Embedded() {
			events.CatchUp(ctx, catchUpTime)
		}
		return events.Stop(ctx)
	})
	cleanup.add("publisher", func(ctx context.Context) error { publisher.Stop(ctx); return nil })
	cleanup.add("requests", service.Stop)

	background, endBackground := context.WithCancel(ctx)
	cleanup.add("end of background", func(context.Context) error { endBackground(); return nil })
	work.Go(func() { live.watch(background) })
	work.Go(func() { rebuilding.watch(background, sessions) })
	work.Go(func() { sweep(background, sessions, cfg.Store.Retention, log) })

	health.serving.Store(true)
	cleanup.add("ready", func(context.Context) error { health.serving.Store(false); return nil })
	log.Info("ready", "took", time.Since(began).Round(time.Millisecond), "ofWhichNATS", connected.Round(time.Millisecond), "nats", requests.URL(), "classifier", live.describe(), "sessions", storeName(cfg))
	if ready != nil {
		ready(requests)
	}
	<-ctx.Done()
	log.Info("stopping")
	return nil
}

// wait waits until all work has ended.
func wait(ctx context.Context, work *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("work in the background has not ended: %w", ctx.Err())
	}
}

// stoppedEarly makes a signal during the start a normal end.
func stoppedEarly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the error is only how the signal looks
	}
	return err
}

// cleanups are the steps of a stop.
type cleanups struct {
	steps []cleanup
}

type cleanup struct {
	name string
	do   func(context.Context) error
}

func (c *cleanups) add(name string, do func(context.Context) error) {
	c.steps = append(c.steps, cleanup{name, do})
}

// run does the steps, the last one first; a failing one does not stop the rest.
func (c *cleanups) run(ctx context.Context) error {
	var errs []error
	for _, v := range slices.Backward(c.steps) {
		if err := v.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", v.name, err))
		}
	}
	return errors.Join(errs...)
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

// startEvents begins to fold events into sessions.
func startEvents(ctx context.Context, b *bus.Bus, layout bus.Layout, sessions applier, metrics *telemetry.Metrics, log *slog.Logger) (events *bus.Events[store.Fact], err error) {
	err = patiently(ctx, log, func(once context.Context) (err error) {
		events, err = bus.StartEvents(once, b.JS, layout, eventFunctions(sessions), metrics, log)
		return err
	})
	return events, err
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

// turns tells the stream and the other processes of turns that begin.
type turns struct {
	layout    bus.Layout
	publisher *bus.Publisher
	runs      *bus.Runs
	claims    atomic.Pointer[bus.Claims]
	log       *slog.Logger
}

// TurnBegun implements [handlers.Bus]. A retry that follows the reply finds the
// other processes told: the broadcast is on the connection of the reply, right
// before it, so that one write to the socket takes both.
func (t *turns) TurnBegun(agent, session, id, traceparent string, body []byte) {
	m := &nats.Msg{Subject: t.layout.Prefix.Event(subjects.HookTurnBegun, agent, session), Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderMsgID, id)
	if traceparent != "" {
		m.Header.Set(subjects.HeaderTraceparent, traceparent)
	}
	t.publisher.Publish(m)
	if err := t.runs.Broadcast(body); err != nil {
		t.log.Debug("telling the other processes", "error", err)
	}
}

// Claim implements [handlers.Bus].
func (t *turns) Claim(ctx context.Context, run string, until time.Time) bool {
	fair.Yield(ctx)
	claims := t.claims.Load()
	return claims == nil || claims.Claim(ctx, run, time.Now(), until)
}

// Release implements [handlers.Bus]. A request that is out of time does not
// wait for it.
func (t *turns) Release(ctx context.Context, run string) {
	claims := t.claims.Load()
	switch {
	case claims == nil:
	case ctx.Err() != nil:
		go claims.Release(context.WithoutCancel(ctx), run)
	default:
		claims.Release(ctx, run)
	}
}

// answer answers a request (contract §3).
func answer(ctx context.Context, runner *handlers.Runner, metrics *telemetry.Metrics, timeout time.Duration, r bus.Request, reply func(bus.Reply)) {
	env, err := payload.DecodeRequest(r.Data)
	if err != nil {
		metrics.BadRequest()
		reply(refuse(err, r.Received, nil))
		return
	}
	if !runner.Handles(env.Hook) {
		reply(bus.Reply{Body: []byte("{}")})
		return
	}
	hook, err := payload.DecodeContext(env.Ctx)
	if err != nil {
		metrics.BadRequest()
		reply(refuse(err, r.Received, nil))
		return
	}
	deadline, margin := handlers.Deadline(r.Received, r.Timeout, timeout)
	if now := time.Now(); now.After(deadline) && now.Sub(r.Received) > stale {
		// It has waited for a processor until nobody waited for it any more.
		reply(overloaded(metrics, r))
		return
	}
	runner.Run(ctx, &handlers.Request{
		Envelope: env, Context: hook, Received: r.Received,
		Deadline: deadline, Margin: margin, Traceparent: r.Traceparent,
	}, func(res handlers.Result, err error) {
		if err != nil {
			reply(refuse(err, r.Received, res.Header))
			return
		}
		reply(bus.Reply{Body: res.Body(), Header: traced(r, res.Header)})
	})
}

// stale is how long a request must have waited to be too old for an answer, also
// when its budget is nearly nothing: a local answer is given within less.
const stale = 50 * time.Millisecond

// overloaded answers a request that there is no room or no time for (contract
// §3). It is no turn: to publish one costs more than to answer.
func overloaded(metrics *telemetry.Metrics, r bus.Request) bus.Reply {
	took := time.Since(r.Received)
	metrics.Skip(string(eligibility.Overloaded), took)
	return bus.Reply{Body: []byte("{}"), Header: traced(r, map[string][]string{
		subjects.HeaderSkip:      {string(eligibility.Overloaded)},
		subjects.HeaderElapsedMs: {handlers.ElapsedMs(took)},
	})}
}

// traced gives a request's trace back.
func traced(r bus.Request, header map[string][]string) nats.Header {
	if r.Traceparent != "" {
		if header == nil {
			header = map[string][]string{}
		}
		header[subjects.HeaderTraceparent] = []string{r.Traceparent}
	}
	return nats.Header(header)
}

// refuse answers a request that is wrong.
func refuse(err error, received time.Time, header map[string][]string) bus.Reply {
	if header == nil {
		header = map[string][]string{subjects.HeaderElapsedMs: {handlers.ElapsedMs(time.Since(received))}}
	}
	return bus.Reply{Body: []byte("{}"), Header: nats.Header(header), Code: 400, Error: err.Error()}
}

// sweeper is a store from which old sessions are removed.
type sweeper interface {
	// Sweep removes sessions that were untouched for longer than olderThan and
	// returns how many; 0 keeps all.
	Sweep(ctx context.Context, olderThan time.Duration) (int, error)
}

// sweep removes sessions that were left alone for longer than they are kept,
// and what dead processes left behind.
func sweep(ctx context.Context, sessions sweeper, keep time.Duration, log *slog.Logger) {
	every := time.Hour
	if keep > 0 {
		every = min(max(keep/4, time.Second), every)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		n, err := sessions.Sweep(ctx, keep)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("removing old sessions", "error", err)
		case n > 0:
			log.Info("old sessions removed", "sessions", n, "untouched", keep)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
