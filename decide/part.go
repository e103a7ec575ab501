package decide

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/bus"
	"intenthint/internal/hook"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/subjects"
)

// partName is that of the part, and of its sink in metrics and logs.
const partName = "decide"

// pagePath is where people look at the decisions.
const pagePath = "/decisions"

// Part returns the decisions as a part of the program. page makes the page on which
// people look at them, and mark them; nil for none.
func Part(page func(*Desk) http.Handler) part.Part {
	var metrics *Metrics
	return part.Part{
		Name: partName, Title: "Decisions", Settings: Declared,
		Needs: func(l bus.Layout, _ part.Program) part.Needs { return needs(l) },
		API:   []string{pathAnswers, pathModels},
		Pages: []part.Page{{
			Path: pagePath, Name: "Decisions",
			Off: `Typed questions are not answered. HINT_DECIDE='{"enabled": true}' turns that on.`,
		}},
		Metrics: func(r prometheus.Registerer) { metrics = NewMetrics(r) },
		Open: func(ctx context.Context, env part.Env) (*part.Running, error) {
			return open(ctx, env, metrics, page)
		},
		Trials: teacherTrials,
	}
}

func needs(l bus.Layout) part.Needs {
	return part.Needs{
		Buckets:  []bus.Bucket{{Config: RubricsBucket(l), Kept: true}, {Config: RecordsBucket(l), Kept: true}},
		Durables: []bus.Durable{durable(l)},
	}
}

// open makes the engine. Without its bucket it answers all the same.
func open(ctx context.Context, env part.Env, metrics *Metrics, page func(*Desk) http.Handler) (*part.Running, error) {
	publisher, stop, err := env.Publisher()
	if err != nil {
		return nil, err
	}
	// What takes long uses the connection of events.
	store, zeros := StoreOf(env.Layout, env.Events.JS, env.Log), NewZeros(env.Encoder)
	engine := &Engine{
		Zeros: zeros, Know: store.Know, Ending: ctx, Metrics: metrics, Log: env.Log,
		Publish: func(d *Decided) {
			m, err := d.encode(env.Layout.Prefix, time.Now())
			if err != nil {
				env.Log.Error("decision not encoded", "rubric", d.Rubric, "error", err)
				return
			}
			publisher.Publish(m)
		},
	}
	use := func(p part.Program) (swap func(), err error) {
		s, err := Make(p)
		return func() { engine.Use(s) }, err
	}
	swap, err := use(env.Program)
	if err != nil {
		return nil, errors.Join(err, stop.Do(ctx))
	}
	swap()
	if err := env.Retry(ctx, store.Open); err != nil {
		env.Log.Warn("bucket unavailable, will retry", "error", err)
	}
	engine.Students = NewStudents(store, zeros, func(r *Rubric) float64 { return engine.Settings().rule(r.ID, r.Key).Target }, env.Log)
	for _, work := range []func(context.Context){store.Run, engine.Students.FollowRubrics, engine.Students.FollowRecords, engine.Students.Run} {
		env.Go(work)
	}
	running := &part.Running{
		Use: use, Hooks: []part.Hook{{Hook: Hook(engine)}}, API: NewAPI(engine).Handlers(), Longest: httpTime,
		Sinks:  []part.Sink{take(env.Layout, &sink{store, finder(env.Events.JS, env.Layout)})},
		Stop:   []part.Step{stop},
		Detail: func() string { return "typed questions, " + cmp.Or(engine.Settings().Model, "without a teacher") },
	}
	if page != nil {
		desk := &Desk{Store: store, JS: env.Events.JS, Layout: env.Layout, Settings: engine.Settings, Publish: env.Publish}
		running.Pages = map[string]http.Handler{pagePath: page(desk)}
	}
	return running, nil
}

// hookBound is for questions that mostly wait for a model.
var hookBound = bus.Bound{Requests: 2048, Bytes: 128 << 20, PerCaller: 512, PerCallerBytes: 32 << 20}

// Hook is the hook at which questions are answered.
func Hook(e *Engine) hook.Hook {
	skip := func(s Skip, took time.Duration) map[string][]string {
		e.Metrics.skipped(s)
		return (&Outcome{Skip: s, Took: took}).Header()
	}
	return hook.Hook{
		Name: subjects.HookDecide, Bound: hookBound,
		Unasked: func(cause error, took time.Duration) map[string][]string {
			if errors.Is(cause, hook.ErrOverloaded) {
				return skip(Overloaded, took)
			}
			return skip(Unsupported, took)
		},
		Handlers: []hook.Handler{{
			Name: partName,
			Handle: func(ctx context.Context, req *hook.Request) (hook.Result, error) {
				if len(req.Envelope.Event) > MaxBytes {
					return hook.Result{Header: skip(Unsupported, time.Since(req.Received))}, nil
				}
				// The request's body ends with the answer, and a late one is learnt from.
				batch, err := ParseBatch(append([]byte(nil), req.Envelope.Event...))
				if err != nil {
					e.Log.Debug("question not supported", "agent", req.Context.Agent(), "error", err)
					return hook.Result{Header: skip(Unsupported, time.Since(req.Received))}, nil
				}
				out := e.Decide(ctx, req.Context.Agent(), &batch)
				out.Took = time.Since(req.Received)
				if out.Reply == nil {
					return hook.Result{Header: out.Header()}, nil
				}
				return hook.Result{Decision: *out.Reply, Header: out.Header()}, nil
			},
			Omitted: func(req *hook.Request, _ error) hook.Result {
				return hook.Result{Header: skip(Deadline, time.Since(req.Received))}
			},
		}},
	}
}

// Join implements [hook.Decision]: nobody else answers.
func (r Reply) Join(hook.Decision) hook.Decision { return r }

// Final implements [hook.Decision].
func (Reply) Final() bool { return true }

// Marked is the feedback of a person on a decision (contract §15).
func Marked(id, label, by string) payload.Feedback {
	return payload.Feedback{Kind: payload.FeedbackDecision, ID: id, Label: label, By: by}
}
