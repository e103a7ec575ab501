package app

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/internal/httpserver"
	"intenthint/knowhub"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/safety"
)

// experiencesFile is the table of experiences in the data directory.
const experiencesFile = "knowhub.db"

// knowHubSink is the name of the sink of extraction in metrics and logs.
const knowHubSink = "knowhub"

// hub is the KnowHub of a process, if HINT_KNOWHUB enables it.
type hub struct {
	service *knowhub.Service
	turns   *bucket.Turns
	copy    *knowhub.Copy
	kept    *bucket.Experiences
}

// openKnowHub makes the service, if it is enabled, and begins to follow the bucket
// and to extract. It does not delay requests: a verb that is not ready yet
// fails.
func (a *App) openKnowHub(ctx context.Context) error {
	if !knowhub.Declared.In(a.cfg.Parts).Enabled {
		return nil
	}
	// The index and the extraction use the connection of events, so that a long
	// catch-up does not delay requests.
	path := filepath.Join(a.cfg.DataDir, experiencesFile)
	log := a.log.With("part", "knowhub")
	h := &hub{kept: bucket.ExperiencesOf(a.layout, a.requests.JS), turns: bucket.TurnsOf(a.layout, a.requests.JS)}
	h.copy = knowhub.NewCopy(knowhub.CopyOptions{
		Bucket: bucket.ExperiencesOf(a.layout, a.events.JS), Path: path, Metrics: a.metrics.knowhub, Log: log,
	})
	h.service = knowhub.New(knowhub.Options{
		Experiences: h.kept, Copy: h.copy, Marks: safety.Marks, Metrics: a.metrics.knowhub, Log: log,
	})
	a.live.serveHub(h.service)
	for _, open := range []func(context.Context) error{h.kept.Open, h.turns.Open} {
		if err := patiently(ctx, a.log, open); err != nil {
			log.Warn("bucket unavailable, will retry", "error", err)
		}
	}
	a.hub = h
	a.console.Review(h.service)
	// Accepted requests are answered until the end of Stop, so the copy is
	// followed for longer than the background work runs.
	following, end := context.WithCancel(a.grace)
	var running sync.WaitGroup
	running.Go(func() { h.copy.Run(following) })
	a.health.healthy.Add("knowhub index", h.copy.Check)
	a.cleanup.add("knowhub index", func(ctx context.Context) error { end(); return wait(ctx, &running) })
	if err := a.extract(ctx); err != nil {
		return err
	}
	return a.serveKnowHub(ctx)
}

// extract begins to read experiences out of events, if that is enabled.
func (a *App) extract(ctx context.Context) error {
	if !knowhub.Declared.In(a.cfg.Parts).Extract {
		return nil
	}
	source := &knowhub.Sink{Service: a.hub.service, Extracted: bucket.TurnsOf(a.layout, a.events.JS)}
	var sink *events.Sink[knowhub.Fact]
	err := patiently(ctx, a.log, func(once context.Context) (err error) {
		sink, err = events.StartSink(once, events.SinkOptions[knowhub.Fact]{
			Name: knowHubSink, JS: a.events.JS, Layout: a.layout, Durable: knowhub.Durable(a.layout, knowhub.Declared.In(a.cfg.Parts).Trigger).Name,
			Handler: events.Handler[knowhub.Fact]{
				Decode: func(_, msgID string, data []byte) (events.Event[knowhub.Fact], error) {
					session, hook, fact, err := knowhub.DecodeFact(knowhub.Declared.In(a.cfg.Parts).Trigger, msgID, data)
					return events.Event[knowhub.Fact]{Session: session, Hook: hook, Fact: fact}, err
				},
				Apply: source.Apply,
				Check: source.Check,
			},
			// One at a time: nothing waits for them, and hints take precedence at the
			// models.
			Appliers: 1, Pause: extractPause,
			Metrics: a.metrics.events, Log: a.log,
		})
		return err
	})
	if err != nil {
		return err
	}
	a.cleanup.add("knowhub events", sink.Stop)
	a.health.healthy.Add("knowhub events", sink.Check)
	return nil
}

// extractPause returns the backoff before extraction from an event is retried
// when no model answered, given its tries so far: 5 s, 40 s, 5 min and 43 min;
// then the event becomes a dead letter. A single failed call is retried
// soon, and most provider outages last less than an hour. The curve is its own: four
// attempts, each costly, over an hour.
func extractPause(tries uint64) time.Duration {
	return 5 * time.Second << (3 * (min(max(tries, 1), 4) - 1))
}

// serveKnowHub serves the HTTP API.
func (a *App) serveKnowHub(ctx context.Context) error {
	server, err := httpserver.Listen(ctx, httpserver.Options{Addr: knowhub.Declared.In(a.cfg.Parts).Listen, Log: a.log})
	if err != nil {
		return fmt.Errorf("HINT_KNOWHUB: %w", err)
	}
	server.Handle("/", knowhub.NewAPI(knowhub.APIOptions{
		Service: a.hub.service, Listen: knowhub.Declared.In(a.cfg.Parts).Listen, Token: knowhub.Declared.In(a.cfg.Parts).Token, Log: a.log,
	}))
	server.Serve()
	a.log.Info("serving the API of experiences", "address", server.Addr())
	a.cleanup.add("knowhub http", server.Shutdown)
	return nil
}

// handlers returns KnowHub's handlers of before_prompt_build, and the hooks of
// its own.
func (h *hub) handlers(resets knowhub.Resets, metrics *knowhub.Metrics) (contributions []hook.Handler, hooks []hook.Hook) {
	if h == nil {
		return nil, nil
	}
	recall := &knowhub.Recall{Service: h.service, Turns: h.turns, Resets: resets}
	reminder := &knowhub.Reminder{Turns: h.turns, Resets: resets, Settings: h.service.Settings, Metrics: metrics}
	return []hook.Handler{recall.Handler(), reminder.Handler()}, []hook.Hook{recall.Hook()}
}

// endpoints returns the endpoints of KnowHub's verbs.
func (h *hub) endpoints(layout bus.Layout) []bus.Endpoint {
	if h == nil {
		return nil
	}
	return h.service.Endpoints(layout.Prefix)
}

// serveHub gives the service its settings; later changes follow.
func (l *live) serveHub(s *knowhub.Service) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hub = s
	l.useKnowHub()
}

// useKnowHub puts the prepared settings of KnowHub in force. mu is held.
func (l *live) useKnowHub() {
	if l.hub == nil {
		return
	}
	l.hub.Use(l.knowHub)
}
