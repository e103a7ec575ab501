package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/handlers"
	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/internal/telemetry"
	"intenthint/payload"
	"intenthint/store"
	"intenthint/store/file"
	"intenthint/subjects"
)

type runCmd struct{}

// Help is the longer text of `consumer run --help`.
func (runCmd) Help() string {
	return "Settings are environment variables, or fields of the JSON5 file that HINT_CONFIG names (an openclaw.json, or the plugin's config object alone); the environment wins.\n\n" + usage()
}

func (runCmd) Run(inv *invocation) error {
	log, level := inv.logger()
	for _, w := range inv.warnings {
		log.Warn("configuration", "variable", w.Variable, "warning", w.Message)
	}
	log.Info("intenthint starts", "version", version, "config", inv.cfg)
	err := serve(inv.ctx, inv.cfg, log, level, nil)
	if err == nil {
		log.Info("intenthint has stopped")
	}
	return err
}

// stopTime bounds a graceful stop: a request may have waited for its model for
// as long as it is allowed to. What is not finished by then is given up, and
// every event of it comes again to another process.
func stopTime(cfg *config.Config) time.Duration {
	return max(20*time.Second, cfg.Classifier.Timeout+10*time.Second)
}

// catchUpTime bounds how long a stop waits for events that are still coming in.
const catchUpTime = 2 * time.Second

// confFile is the configuration file of the embedded server: "" for the copy
// built in, when the default file is not there.
func confFile(cfg *config.Config) string {
	if _, err := os.Stat(cfg.Bus.Conf); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return cfg.Bus.Conf
}

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

	o := busOptions(cfg)
	o.Wait, o.Log = true, log
	requests, err := bus.Open(ctx, o)
	if err != nil {
		return stoppedEarly(ctx, err)
	}
	connected := time.Since(began)
	// Clean-ups run last in, first out.
	var cleanup cleanups
	stopping, cancelStop := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelStop()
	defer func() {
		time.AfterFunc(stopTime(live.config()), cancelStop)
		err = errors.Join(err, cleanup.run(stopping))
	}()
	cleanup.add("bus", func(context.Context) error { requests.Close(); return nil })

	if err := requests.CheckJetStream(ctx); err != nil {
		return err
	}
	layout := layoutOf(cfg)
	if err := provision(ctx, requests, layout, log); err != nil {
		return stoppedEarly(ctx, err)
	}
	sessions, err := openStore(cfg, log)
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}

	publisher, err := bus.NewPublisher(requests.NC, metrics, log)
	if err != nil {
		return err
	}

	turns := &turns{layout: layout, publisher: publisher, log: log}
	runs := handlers.NewRuns()
	origin := nuid.Next()
	if turns.runs, err = bus.StartRuns(requests.NC, layout, origin, runs.Learn); err != nil {
		return err
	}
	if err := bus.Replay(ctx, requests.JS, layout, time.Now(), runs.Learn); err != nil {
		log.Warn("recent runs could not be read, a retry of one is classified anew", "error", err)
	}
	live.onModel(func() {
		claims, err := bus.OpenClaims(ctx, requests.JS, layout, origin, log)
		if err != nil {
			log.Warn("runs cannot be claimed: two requests for one run at once, in two processes, may ask the model twice", "error", err)
			return
		}
		turns.claims.Store(claims)
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

	events, err := startEvents(ctx, requests, layout, sessions, metrics, log)
	if err != nil {
		return err
	}
	var serving atomic.Bool
	stopHTTP, err := startHTTP(ctx, cfg, requests, events, &serving, metrics, log)
	if err != nil {
		return errors.Join(err, events.Stop(stopping))
	}
	cleanup.add("http", stopHTTP)

	service, err := bus.StartService(stopping, requests.NC, bus.ServiceOptions{
		Layout: layout, Version: version, Hooks: runner.Hooks(), InFlight: metrics.InFlight, Log: log,
		Metadata: map[string]string{"prefix": cfg.Bus.Prefix, "stream": cfg.Bus.Stream, "store": cfg.Store.Kind},
	}, func(ctx context.Context, r bus.Request) bus.Reply {
		turns.runs.Settle(ctx)
		return answer(ctx, runner, metrics, live.timeout(), r)
	})
	if err != nil {
		return errors.Join(err, events.Stop(stopping))
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
	cleanup.add("background", func(context.Context) error { endBackground(); return nil })
	go live.watch(background)
	go sweep(background, sessions, cfg.Store.Retention, log)

	serving.Store(true)
	cleanup.add("ready", func(context.Context) error { serving.Store(false); return nil })
	log.Info("ready", "took", time.Since(began).Round(time.Millisecond), "ofWhichNATS", connected.Round(time.Millisecond), "nats", requests.URL(), "classifier", live.describe(), "sessions", cfg.Store.SessionsDir)
	if ready != nil {
		ready(requests)
	}
	<-ctx.Done()
	log.Info("stopping")
	return nil
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

// provision makes what is missing. A server of its own that is not ready yet
// (a cluster without a leader) is waited for.
func provision(ctx context.Context, b *bus.Bus, layout bus.Layout, log *slog.Logger) error {
	for attempt := 1; ; attempt++ {
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := bus.Provision(once, b.JS, layout)
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

// startEvents begins to fold events into sessions, over a connection of its
// own: a history of eight megabytes must not stand before a request.
func startEvents(ctx context.Context, requests *bus.Bus, layout bus.Layout, sessions *file.Store, metrics *telemetry.Metrics, log *slog.Logger) (*eventsOnTheirOwn, error) {
	own, err := requests.Another("intenthint events")
	if err != nil {
		return nil, err
	}
	events, err := bus.StartEvents(ctx, own.JS, layout, bus.EventFunctions[store.Fact]{
		Decode: func(_, msgID string, data []byte) (bus.Event[store.Fact], error) {
			session, hook, fact, err := handlers.Fact(msgID, data)
			return bus.Event[store.Fact]{Session: session, Hook: hook, Fact: fact}, err
		},
		Apply: sessions.Apply,
		Check: sessions.Check,
	}, metrics, log)
	if err != nil {
		own.Close()
		return nil, err
	}
	return &eventsOnTheirOwn{Events: events, bus: own}, nil
}

// eventsOnTheirOwn are the events and the connection they come by.
type eventsOnTheirOwn struct {
	*bus.Events[store.Fact]
	bus *bus.Bus
}

// Stop drains the events, then their connection.
func (e *eventsOnTheirOwn) Stop(ctx context.Context) error {
	err := e.Events.Stop(ctx)
	e.bus.Close()
	return err
}

// turns tells the stream and the other processes of turns that begin.
type turns struct {
	layout    bus.Layout
	publisher *bus.Publisher
	runs      *bus.Runs
	claims    atomic.Pointer[bus.Claims]
	log       *slog.Logger
}

// TurnBegun implements [handlers.Bus]: the other processes first, so that a
// retry that follows the reply finds them told.
func (t *turns) TurnBegun(agent, session, id, traceparent string, body []byte) {
	if err := t.runs.Broadcast(body); err != nil {
		t.log.Debug("telling the other processes", "error", err)
	}
	m := &nats.Msg{Subject: t.layout.Prefix.Event(subjects.HookTurnBegun, agent, session), Data: body, Header: nats.Header{}}
	m.Header.Set(subjects.HeaderMsgID, id)
	if traceparent != "" {
		m.Header.Set(subjects.HeaderTraceparent, traceparent)
	}
	t.publisher.Publish(m)
}

// Claim implements [handlers.Bus].
func (t *turns) Claim(ctx context.Context, run string, until time.Time) bool {
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

// answer is what a request is answered (contract §3).
func answer(ctx context.Context, runner *handlers.Runner, metrics *telemetry.Metrics, timeout time.Duration, r bus.Request) bus.Reply {
	env, err := payload.DecodeRequest(r.Data)
	if err != nil {
		metrics.BadRequest()
		return refuse(err, r.Received, nil)
	}
	if !runner.Handles(env.Hook) {
		return bus.Reply{Body: []byte("{}")}
	}
	hook, err := payload.DecodeContext(env.Ctx)
	if err != nil {
		metrics.BadRequest()
		return refuse(err, r.Received, nil)
	}
	deadline, margin := handlers.Deadline(r.Received, r.Timeout, timeout)
	res, err := runner.Run(ctx, &handlers.Request{
		Envelope: env, Context: hook, Received: r.Received,
		Deadline: deadline, Margin: margin, Traceparent: r.Traceparent,
	})
	if err != nil {
		return refuse(err, r.Received, res.Header)
	}
	if r.Traceparent != "" {
		if res.Header == nil {
			res.Header = map[string][]string{}
		}
		res.Header[subjects.HeaderTraceparent] = []string{r.Traceparent}
	}
	return bus.Reply{Body: res.Body(), Header: nats.Header(res.Header)}
}

// refuse answers a request that is wrong.
func refuse(err error, received time.Time, header map[string][]string) bus.Reply {
	if header == nil {
		header = map[string][]string{subjects.HeaderElapsedMs: {handlers.ElapsedMs(time.Since(received))}}
	}
	return bus.Reply{Body: []byte("{}"), Header: nats.Header(header), Code: 400, Error: err.Error()}
}

// sweep removes sessions that were left alone for longer than they are kept.
func sweep(ctx context.Context, sessions *file.Store, keep time.Duration, log *slog.Logger) {
	if keep <= 0 {
		return
	}
	tick := time.NewTicker(min(max(keep/4, time.Second), time.Hour))
	defer tick.Stop()
	for {
		n, err := sessions.Sweep(ctx, keep)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("removing old sessions", "error", err)
		case n > 0:
			log.Info("old sessions removed", "files", n, "untouched", keep)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
