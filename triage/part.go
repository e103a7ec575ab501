package triage

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/model"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/subjects"
	"intenthint/triage/state"
)

// name is that of the part, and of its sink in metrics and logs.
const name = "triage"

// Page makes the page of the gate's decisions. mark publishes a person's mark on a
// message, and returns once it is stored.
type Page func(shared *state.Store, mark func(ctx context.Context, said payload.Feedback) error) http.Handler

// Part returns the triage gate as a part of the program.
func Part(page Page) part.Part {
	var metrics *Metrics
	return part.Part{
		Name: name, Title: "Triage", Settings: Declared,
		Needs: func(l bus.Layout, _ part.Program) part.Needs { return needs(l) },
		Pages: []part.Page{{
			Path: "/triage", Name: "Triage",
			Off: "The triage gate is not running in this process. HINT_TRIAGE='{\"enabled\": true}' turns it on.",
		}},
		Metrics: func(r prometheus.Registerer) { metrics = NewMetrics(r) },
		Open: func(ctx context.Context, env part.Env) (*part.Running, error) {
			return open(ctx, env, metrics, page)
		},
		Trials: trials,
	}
}

// Make returns the settings of a program, without the trained gate.
func Make(p part.Program) (*Settings, error) {
	s := *Declared.In(p.Values)
	s.Model, s.Limit, s.Redact = cmp.Or(s.Model, p.Model), model.NewLimit(p.MaxInflight), p.Redact
	var err error
	if s.Model != "" {
		s.Asked, err = p.Asked(s.Model)
	}
	return &s, err
}

func needs(l bus.Layout) part.Needs {
	b := state.BucketsOf(l)
	return part.Needs{
		Buckets:  []bus.Bucket{{Config: b.Decisions, Followed: true}, {Config: b.Recent}, {Config: b.Marks, Kept: true, Followed: true}},
		Durables: []bus.Durable{durable(l)},
	}
}

func durable(l bus.Layout) bus.Durable {
	return bus.Durable{
		Name:        l.QueueGroup + "-triage",
		Hooks:       []string{subjects.HookFeedback, subjects.HookMessageSent, subjects.HookBeforePromptBuild},
		Description: "Feedback, sent messages and unanswered turns, for the triage gate of intenthint",
	}
}

// open makes the gate. Without its buckets it lets messages through.
func open(ctx context.Context, env part.Env, metrics *Metrics, page Page) (*part.Running, error) {
	shared, trainer := state.Of(env.Layout, env.Requests.JS), newTrainer()
	// What takes long uses the connection of events, which has buckets of its own.
	behind := state.Of(env.Layout, env.Events.JS)
	gate := New(Options{State: shared, Metrics: metrics, Log: env.Log})
	skipped := &Skipped{State: shared, Metrics: metrics, Log: env.Log}
	use := func(p part.Program) (swap func(), err error) {
		s, err := Make(p)
		return func() {
			trainer.enable(s.Trained)
			if s.Trained {
				s.Local = trainer
			}
			gate.Use(s)
			skipped.Use(s)
		}, err
	}
	swap, err := use(env.Program)
	if err != nil {
		return nil, err
	}
	swap()
	if err := env.Retry(ctx, shared.Open); err != nil {
		// The gate lets all messages through until it is available.
		env.Log.Warn("triage state unavailable", "error", err)
	}
	env.Go(trainer.run)
	env.Go(func(ctx context.Context) {
		shared.Follow(ctx, func(marks []state.Mark) {
			gate.UseMarks(marks)
			trainer.use(marks)
		}, env.Log)
	})
	running := &part.Running{
		Use: use, Hooks: []part.Hook{beforeDispatch(gate), {Hook: hook.Hook{
			Name: subjects.HookBeforePromptBuild, Handlers: []hook.Handler{skipped.Handler()},
		}}},
		Sinks:  []part.Sink{take(env.Layout, Sink{State: behind, Settings: gate.Settings})},
		Detail: func() string { return "messages of groups, " + cmp.Or(gate.Settings().Model, "without a model") },
	}
	if page != nil {
		running.Pages = map[string]http.Handler{"/triage": page(behind, func(ctx context.Context, said payload.Feedback) error {
			_, _, err := Mark(ctx, behind, env.Publish, said)
			return err
		})}
	}
	return running, nil
}

// dispatchBound is for decisions that mostly wait for a model: a message takes
// seconds but hardly any CPU time.
var dispatchBound = bus.Bound{Requests: 2048, Bytes: 64 << 20, PerCaller: 512, PerCallerBytes: 16 << 20}

// beforeDispatch decides whether a message of a group is answered.
func beforeDispatch(g *Gate) part.Hook {
	return part.Hook{
		Hook: hook.Hook{
			Name: subjects.HookBeforeDispatch, Handlers: []hook.Handler{g.Handler()}, Bound: dispatchBound, Unasked: g.Unasked,
		},
		Timeout: func() time.Duration { return g.Settings().Timeout },
	}
}

// take takes the events that the gates use.
func take(l bus.Layout, s Sink) part.Sink {
	return part.Take(events.SinkOptions[Fact]{
		Name: name, Durable: durable(l).Name,
		Handler: events.Handler[Fact]{
			Decode: func(named, msgID string, data []byte) (events.Event[Fact], error) {
				group, hook, fact, err := DecodeFact(named, msgID, data)
				return events.Event[Fact]{Session: group, Hook: hook, Fact: fact}, err
			},
			Apply: s.Apply,
		},
	})
}

// Mark publishes a person's mark on a group message (contract §11), and returns the
// decision about the message; known is false if there is no such decision; then
// nothing is published.
func Mark(ctx context.Context, shared *state.Store, publish func(context.Context, payload.Context, payload.Feedback) error, said payload.Feedback) (d state.Decision, known bool, err error) {
	if d, known, err = shared.Decision(ctx, said.Group, said.MessageID); err != nil || !known {
		return d, known, err
	}
	about := payload.Context{SessionKey: said.Group}
	about.AgentID = cmp.Or(d.Agent, about.Agent())
	said.Kind = payload.FeedbackTriage
	return d, known, publish(ctx, about, said)
}

// trials asks the gate's own model whether a message needs an answer.
func trials(p part.Program) []part.Trial {
	own := Declared.In(p.Values)
	if own.Model == "" {
		return nil
	}
	return []part.Trial{{
		Setting: "triageModel of HINT_TRIAGE", Ref: own.Model, Limit: "timeoutMs of HINT_TRIAGE", Most: own.Timeout,
		Ask: func(ctx context.Context, asked part.Asked) (string, error) {
			own := *own
			own.Asked, own.Limit = asked, model.NewLimit(1)
			t, err := own.ask(ctx, Message{Group: "agent:main:group:doctor", Sender: "ann", Text: "Remind me to water the plants tomorrow at nine."}, nil, nil)
			return t.Word(), err
		},
	}}
}
