package app

import (
	"context"

	"intenthint/config"
	"intenthint/hint"
	"intenthint/internal/events"
	"intenthint/learning"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/store"
)

// hints is what hints are made of.
func (a *App) hints() hint.Core {
	c := hint.Core{Answers: a.answers, Open: func(h *hint.Hinter) { a.hinter = h }, Lost: func(events int) { a.lost += events }}
	if a.metrics != nil {
		c.Metrics, c.Events = a.metrics.hints, a.metrics.events
	}
	return c
}

// lessons is what learns from use, and from what.
func (a *App) lessons() learning.Source {
	return learning.Source{Learner: a.live, Sessions: func() store.Store { return a.sessions }, MinConfidence: a.minConfidence, Suspect: Suspicious}
}

// openParts opens the parts that are on, in their order.
func (a *App) openParts(ctx context.Context) error { return a.open(ctx, false) }

// openLateParts opens those that must not delay requests.
func (a *App) openLateParts(ctx context.Context) error { return a.open(ctx, true) }

func (a *App) open(ctx context.Context, late bool) error {
	program := ProgramOf(a.cfg, Observer{a.metrics, a.log}, a.live.breakers)
	for _, p := range a.parts {
		switch {
		case p.AfterRequests != late:
			continue
		case !p.IsOn(program):
			a.leave(ctx, p)
			continue
		}
		r, err := p.Open(ctx, a.env(ctx, p.Name, program))
		if err != nil {
			return err
		}
		if err := a.run(ctx, p.Name, r); err != nil {
			return err
		}
	}
	return nil
}

// leave tells a part that it is off.
func (a *App) leave(ctx context.Context, p part.Part) {
	if p.Off == nil {
		return
	}
	a.work.Go(func() {
		if err := p.Off(ctx, a.layout, a.events.JS); err != nil && ctx.Err() == nil {
			a.log.Debug("part that is off not recorded", "part", p.Name, "error", err)
		}
	})
}

// env is what a part runs in.
func (a *App) env(ctx context.Context, name string, program part.Program) part.Env {
	return part.Env{
		Program: program, Layout: a.layout, DataDir: a.cfg.DataDir, Token: a.token, Guesses: a.guesses, Requests: a.requests, Events: a.events,
		Log: a.log.With("part", name),
		Retry: func(ctx context.Context, do func(context.Context) error) error {
			return retryTemporary(ctx, a.log, do)
		},
		Publisher: func() (*events.Publisher, part.Step, error) {
			p, err := events.NewPublisher(a.requests.NC, a.metrics.events, a.log)
			return p, part.Step{Name: name + " publisher", Do: func(ctx context.Context) error {
				a.lost += p.Stop(ctx)
				return nil
			}}, err
		},
		Go: func(work func(context.Context)) { a.work.Go(func() { work(ctx) }) },
		Publish: func(ctx context.Context, about payload.Context, said payload.Feedback) error {
			return PublishFeedback(ctx, a.events.JS, a.layout, about, said)
		},
		LastReset: a.answers.Sessions.LastReset,
		Encoder:   EncoderOf(a.cfg),
	}
}

// EncoderOf returns what unpacks the encoder in the binary; nil if it is turned off.
func EncoderOf(cfg *config.Config) func() (part.Encoder, error) {
	if cfg.Classifier.Embedding == config.EmbeddingOff {
		return nil
	}
	return func() (part.Encoder, error) { return sharedEncoder() }
}

// run makes an open part take part: its end is planned, its sinks start, and its pages
// and checks are served.
func (a *App) run(ctx context.Context, name string, r *part.Running) error {
	a.running[name] = r
	a.live.follow(r)
	for _, s := range r.Stop {
		a.cleanup.add(s.Name, s.Do)
	}
	for _, c := range r.Checks {
		a.health.healthy.Add(c.Name, c.Do)
	}
	for path, h := range r.Pages {
		a.console.Serve(path, h)
	}
	for path, h := range r.API {
		a.console.Serve(path, h)
	}
	for _, take := range r.Sinks {
		sink, err := a.startSink(ctx, take)
		if err != nil {
			return err
		}
		a.cleanup.add(name+" events", sink.Stop)
		a.health.healthy.Add(name+" events", sink.Check)
	}
	if r.Listen == nil {
		return nil
	}
	stop, err := r.Listen(ctx)
	if err != nil {
		return err
	}
	a.cleanup.add(name+" http", stop)
	return nil
}

// startSink starts a sink of the event stream.
func (a *App) startSink(ctx context.Context, take part.Sink) (sink part.Taking, err error) {
	err = retryTemporary(ctx, a.log, func(once context.Context) (err error) {
		sink, err = take(once, part.Stream{JS: a.events.JS, Layout: a.layout, Metrics: a.metrics.events, Log: a.log})
		return err
	})
	return sink, err
}

// opened returns the parts that are open, in their order.
func (a *App) opened() []*part.Running {
	var out []*part.Running
	for _, p := range a.parts {
		if r := a.running[p.Name]; r != nil {
			out = append(out, r)
		}
	}
	return out
}
