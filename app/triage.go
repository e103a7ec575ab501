package app

import (
	"cmp"
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/payload"
	"intenthint/subjects"
	"intenthint/triage"
	"intenthint/triage/state"
)

// triageSink is the name of the sink of the triage gate in metrics and logs.
const triageSink = "triage"

// gate is the triage gate of a process, if HINT_TRIAGE enables it.
type gate struct {
	gate    *triage.Gate
	skipped *triage.Skipped
	sink    triage.Sink
	state   *state.Store
	trainer *trainer
}

// openTriage makes the gate, if it is enabled, and opens its buckets.
func (a *App) openTriage(ctx context.Context) error {
	if !triage.Declared.In(a.cfg.Parts).Enabled {
		return nil
	}
	g := &gate{state: state.Of(a.layout, a.requests.JS), trainer: newTrainer()}
	g.gate = triage.New(triage.Options{State: g.state, Metrics: a.metrics.triage, Log: a.log})
	g.skipped = &triage.Skipped{State: g.state, Metrics: a.metrics.triage, Log: a.log}
	// Events are applied over their own connection, which has buckets of its own.
	g.sink = triage.Sink{State: state.Of(a.layout, a.events.JS), Settings: g.gate.Settings}
	a.live.serveTriage(g)
	if err := patiently(ctx, a.log, g.state.Open); err != nil {
		a.log.Warn("triage state unavailable, messages let through", "error", err)
	}
	a.gate = g
	if err := a.takeTriageEvents(ctx); err != nil {
		return err
	}
	a.work.Go(func() { g.trainer.run(ctx) })
	a.work.Go(func() {
		g.state.Follow(ctx, func(marks []state.Mark) {
			g.gate.UseMarks(marks)
			g.trainer.use(marks)
		}, a.log)
	})
	return nil
}

// takeTriageEvents starts to take the events of the triage gate, such as
// feedback on decisions.
func (a *App) takeTriageEvents(ctx context.Context) error {
	var sink *events.Sink[triage.Fact]
	err := patiently(ctx, a.log, func(once context.Context) (err error) {
		sink, err = events.StartSink(once, events.SinkOptions[triage.Fact]{
			Name: triageSink, JS: a.events.JS, Layout: a.layout, Durable: triage.Durable(a.layout).Name,
			Handler: events.Handler[triage.Fact]{
				Decode: func(_, msgID string, data []byte) (events.Event[triage.Fact], error) {
					group, hook, fact, err := triage.DecodeFact(msgID, data)
					return events.Event[triage.Fact]{Session: group, Hook: hook, Fact: fact}, err
				},
				Apply: a.gate.sink.Apply,
			},
			Metrics: a.metrics.events, Log: a.log,
		})
		return err
	})
	if err != nil {
		return err
	}
	a.cleanup.add("triage events", sink.Stop)
	a.health.healthy.Add("triage events", sink.Check)
	return nil
}

// skippedHandlers returns the gate's handlers of before_prompt_build.
func (g *gate) skippedHandlers() []hook.Handler {
	if g == nil {
		return nil
	}
	return []hook.Handler{g.skipped.Handler()}
}

// serveTriage gives the gate its settings; later changes follow.
func (l *live) serveTriage(g *gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = g
	l.useTriage()
}

// useTriage puts the prepared settings of the gate in force. mu is held.
func (l *live) useTriage() {
	if l.gate == nil {
		return
	}
	l.gate.trainer.enable(l.triage.Trained)
	if l.triage.Trained {
		l.triage.Local = l.gate.trainer
	}
	l.gate.gate.Use(l.triage)
	l.gate.skipped.Use(l.triage)
}

// timeoutOf returns the longest time that a request of a hook may take.
func (l *live) timeoutOf(name string) func() time.Duration {
	if name == subjects.HookBeforeDispatch {
		return func() time.Duration { return triage.Declared.In(l.config().Parts).Timeout }
	}
	return func() time.Duration { return l.config().Classifier.Timeout }
}

// MarkMessage publishes a person's mark on a group message (contract §11), and
// returns the decision about the message; known is false if there is no such
// decision. The message is marked either way.
func MarkMessage(ctx context.Context, js jetstream.JetStream, l bus.Layout, shared *state.Store, said payload.Feedback) (d state.Decision, known bool, err error) {
	if d, known, err = shared.Decision(ctx, said.Group, said.MessageID); err != nil {
		return d, known, err
	}
	about := payload.Context{SessionKey: said.Group}
	about.AgentID = cmp.Or(d.Agent, about.Agent())
	said.Kind = payload.FeedbackTriage
	return d, known, PublishFeedback(ctx, js, l, about, said)
}
