// Package toy is a whole part: it denies agents a tool, and counts what it denied. The
// recipes of CONTRIBUTING.md quote it.
package toy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/internal/kv"
	"intenthint/part"
	"intenthint/payload"
	"intenthint/subjects"
)

// Settings are how the part works (HINT_TOY).
type Settings struct {
	Enabled bool
	Tool    string
}

// Declared are the fields of HINT_TOY.
var Declared = part.Declare("toy", "denies agents a tool",
	part.Set("enabled", func(s *Settings) *bool { return &s.Enabled }, false, part.Flag, "").AtStart(),
	part.Set("tool", func(s *Settings) *string { return &s.Tool }, "exec", part.Text, "The tool."),
)

// Part returns the part.
func Part() part.Part {
	return part.Part{
		Name: "toy", Title: "Toy", Settings: Declared, Open: open,
		Pages: []part.Page{{Path: "/toy", Name: "Toy", Off: "HINT_TOY turns it on."}},
		Needs: func(l bus.Layout, _ part.Program) part.Needs {
			return part.Needs{Buckets: []bus.Bucket{{Config: bucket(l)}}, Durables: []bus.Durable{durable(l)}}
		},
	}
}

func bucket(l bus.Layout) jetstream.KeyValueConfig {
	return l.Bucket("_TOY", "What was denied, by session")
}

func durable(l bus.Layout) bus.Durable {
	return bus.Durable{Name: l.QueueGroup + "-toy", Hooks: []string{subjects.HookSessionEnd}, Description: "Ends of sessions, for the toy"}
}

func open(ctx context.Context, env part.Env) (*part.Running, error) {
	t := &toy{denied: kv.New(env.Requests.JS, bucket(env.Layout)), settings: Declared.In(env.Values)}
	return &part.Running{
		Hooks: []part.Hook{{Hook: hook.Hook{
			Name: "before_tool_call", Handlers: []hook.Handler{{Name: "toy", Handle: t.handle}},
		}}},
		Sinks: []part.Sink{part.Take(events.SinkOptions[string]{
			Name: "toy", Durable: durable(env.Layout).Name,
			Handler: events.Handler[string]{Decode: decode, Apply: t.forget},
		})},
		Pages:  map[string]http.Handler{"/toy": http.HandlerFunc(t.show)},
		Checks: []part.Step{{Name: "toy", Do: t.denied.Open}},
	}, env.Retry(ctx, t.denied.Open)
}

type toy struct {
	denied   *kv.Bucket
	settings *Settings
}

// block ends the tool call. Its JSON is what the gateway's handler would return.
type block struct {
	Block  bool   `json:"block"`
	Reason string `json:"blockReason"`
}

func (b block) Join(hook.Decision) hook.Decision { return b }
func (block) Final() bool                        { return true }

func (t *toy) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	var e struct {
		ToolName string `json:"toolName"`
	}
	if err := json.Unmarshal(req.Envelope.Event, &e); err != nil || e.ToolName != t.settings.Tool {
		return hook.Result{}, err // no decision
	}
	_, err := kv.Change(ctx, t.denied, subjects.Name(req.Context.Session()), func(n *kv.Value[int]) (write bool, err error) {
		n.V++
		return true, nil
	})
	return hook.Result{Decision: block{true, e.ToolName + " is not allowed here"}}, err
}

// decode returns the session of an event.
func decode(named, msgID string, data []byte) (ev events.Event[string], err error) {
	env, err := payload.DecodeEvent(named, msgID, data)
	if err != nil {
		return ev, err
	}
	ctx, err := payload.DecodeContext(env.Ctx)
	return events.Event[string]{Session: ctx.Session(), Hook: env.Hook, Fact: ctx.Session()}, err
}

// forget forgets what was denied in sessions that have ended.
func (t *toy) forget(ctx context.Context, sessions []string) error {
	return t.denied.Use(ctx, func(b jetstream.KeyValue) error { return b.Delete(ctx, subjects.Name(sessions[0])) })
}

// show is the page.
func (t *toy) show(w http.ResponseWriter, r *http.Request) {
	err := t.denied.Each(r.Context(), ">", func(e jetstream.KeyValueEntry) error {
		_, err := fmt.Fprintf(w, "%s: %s denied %s times\n", e.Key(), t.settings.Tool, e.Value())
		return err
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
