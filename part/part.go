// Package part is what a sibling of this program is, as the rest of the program
// sees it: a [Part] tells what it needs, and once it is open, a [Running] tells what
// it takes part in. The app loops over parts and knows none by name.
package part

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/access"
	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/internal/hook"
	"intenthint/model/provider"
	"intenthint/payload"
)

// Part is a sibling that is not running. All fields but Name and Open may be left out.
type Part struct {
	// Name is that of the part in logs and checks.
	Name string
	// Title is its name on the overview, "" for a part that is not shown there.
	Title string
	// Settings are declared by the part.
	Settings Object
	// On reports whether the part is on; nil means that its settings turn it on.
	On func(Program) bool
	// Needs returns what it needs of a system, while it is on.
	Needs func(l bus.Layout, p Program) Needs
	// Pages are its pages, also while it is off.
	Pages []Page
	// API are the paths of its HTTP API at HINT_HTTP_ADDR; the handlers are those of
	// [Running.API].
	API []string
	// Metrics registers its metrics, before the process connects.
	Metrics func(prometheus.Registerer)
	// AfterRequests is set for a part that answers nothing: it opens once requests are
	// answered, which it must not delay.
	AfterRequests bool
	// Open begins its work. ctx ends when the process stops.
	Open func(ctx context.Context, env Env) (*Running, error)
	// Off, if not nil, is called at a start while the part is off, in the background.
	// What the part needs of a system may be missing.
	Off func(ctx context.Context, l bus.Layout, js jetstream.JetStream) error
	// Forget returns what forgets sessions for good in a system, also while the part is
	// off; nil if there is nothing to forget.
	Forget func(ctx context.Context, l bus.Layout, js jetstream.JetStream) (Forget, error)
	// Trials are questions that show whether its models answer.
	Trials func(Program) []Trial
}

// IsOn reports whether a part is on.
func (p Part) IsOn(program Program) bool {
	switch {
	case p.On != nil:
		return p.On(program)
	case p.Settings != nil:
		return On(p.Settings, program.Values[p.Settings.Name()])
	}
	return true
}

// Needs are the buckets of a part, and its durables of the event stream.
type Needs struct {
	Buckets  []bus.Bucket
	Durables []bus.Durable
}

// Page is a page of a part, with all paths below it.
type Page struct {
	Path, Name string
	// Off is what is shown while the part is off.
	Off string
}

// Forget forgets a session for good, and returns how many things of a kind it removed.
type Forget struct {
	What string // one of them, in words
	Do   func(ctx context.Context, session string) (removed int, err error)
}

// Trial is a question to a model that a part has of its own.
type Trial struct {
	Setting, Ref string // what names the model, and the model
	// Limit is the setting that bounds the time of an answer, Most that time; 0 for none.
	Limit string
	Most  time.Duration
	// Ask returns a short form of the answer.
	Ask func(ctx context.Context, asked Asked) (string, error)
}

// Env is what a part runs in.
type Env struct {
	Program
	Layout  bus.Layout
	DataDir string
	// Token is what an HTTP API of the part requires, unless its own settings have one; ""
	// for none. Guesses bounds wrong ones, of all HTTP servers together.
	Token   string
	Guesses *access.Guesses
	// Requests and Events are separate connections: what may take long uses Events.
	Requests, Events *bus.Bus
	Log              *slog.Logger
	// Encoder returns the encoder in the binary, which it unpacks when it is first called;
	// nil if HINT_EMBEDDING_MODEL turns it off.
	Encoder func() (Encoder, error)
	// Retry repeats do while NATS is not available.
	Retry func(ctx context.Context, do func(context.Context) error) error
	// Go runs work in the background until the process stops.
	Go func(work func(ctx context.Context))
	// Publisher returns a publisher of events for requests, which does not block, and the
	// step that ends it.
	Publisher func() (*events.Publisher, Step, error)
	// Publish publishes feedback, and returns once it is stored.
	Publish func(ctx context.Context, about payload.Context, said payload.Feedback) error
	// LastReset returns when a session last began anew or was compacted, in Unix
	// milliseconds by the gateway's clock; 0 if that is unknown.
	LastReset func(session string) int64
}

// Encoder makes vectors of English texts, of 512 numbers and of length 1.
type Encoder interface {
	// Fits reports whether a text is English.
	Fits(text string) bool
	// Vectors returns the vector of each text, by text, and caches it. A text that would
	// miss the deadline of ctx is not begun.
	Vectors(ctx context.Context, texts []string) (map[string][]float32, error)
	// Embed returns the vector of each text.
	Embed(ctx context.Context, texts []string) ([][]float32, provider.Usage, error)
}

// Running is an open part. All fields may be left out.
type Running struct {
	// Use prepares other settings; swap puts them in force.
	Use func(Program) (swap func(), err error)
	// Hooks are what it decides, or contributes to what other parts decide.
	Hooks []Hook
	// Endpoints are NATS endpoints besides those of hooks.
	Endpoints []bus.Endpoint
	// Sinks take events.
	Sinks []Sink
	// Listen serves at an address of its own, after the sinks have begun.
	Listen func(ctx context.Context) (stop func(context.Context) error, err error)
	// Pages are the handlers of its pages, by path.
	Pages map[string]http.Handler
	// API are the handlers of its HTTP API, by path. Host, origin and token are checked
	// before they are called.
	API map[string]http.Handler
	// Detail is a line on the overview.
	Detail func() string
	// Checks are health checks. Stop are the steps of its end, in reverse order, after
	// the sinks have ended.
	Checks, Stop []Step
	// Longest is the longest time that anything but a hook waits for the part.
	Longest time.Duration
}

// Step is a named check or a step of a stop.
type Step struct {
	Name string
	Do   func(ctx context.Context) error
}

// Hook is what a part contributes to a decision hook. Bound, Unasked and Timeout are
// those of the first part that sets them.
type Hook struct {
	hook.Hook
	// Timeout is the longest time that a request may take; nil means HINT_TIMEOUT_MS.
	Timeout func() time.Duration
}

// Sink begins to take the events of a durable; [Take] makes one.
type Sink func(ctx context.Context, s Stream) (Taking, error)

// Stream is where sinks take their events from.
type Stream struct {
	JS      jetstream.JetStream
	Layout  bus.Layout
	Metrics *events.Metrics
	Log     *slog.Logger
}

// Taking is a sink that takes events.
type Taking interface {
	Check(ctx context.Context) error
	CatchUp(ctx context.Context, most time.Duration)
	Stop(ctx context.Context) error
}

// Take returns the sink with these options, without those of [Stream].
func Take[F any](o events.SinkOptions[F]) Sink {
	return func(ctx context.Context, s Stream) (Taking, error) {
		o := o
		o.JS, o.Layout, o.Metrics, o.Log = s.JS, s.Layout, s.Metrics, s.Log
		return events.StartSink(ctx, o)
	}
}
