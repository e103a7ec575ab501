// Package hint answers before_prompt_build with a routing hint: which turns get
// one (package eligibility), the turns to classify (package conversation), the
// classification (package classify), the run's first answer (package run), and
// the text (package render). Every turn that begins is published as a
// turn_begun event, from which sessions are made (contract §4–§6, §8).
package hint

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/classify"
	"intenthint/hint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/hint/render"
	"intenthint/hint/run"
	"intenthint/intents"
	"intenthint/internal/hook"
	"intenthint/payload"
	"intenthint/subjects"
)

// Settings is everything a hint is made from. It is immutable: a change of the
// configuration or the catalogue makes another one, and a request uses one from
// beginning to end.
type Settings struct {
	Rules eligibility.Rules
	// Catalog returns the intents that an agent may be given.
	Catalog func(agent string) *intents.Catalog

	QueryMode conversation.QueryMode
	Window    conversation.Window
	Location  *time.Location

	Classifier *classify.Classifier
	// MinConfidence is the confidence below which no hint is given.
	MinConfidence float64
	Complexity    render.Prompts
}

// Publisher sends messages to the event stream without waiting for the
// acknowledgement. They carry Nats-Msg-Id, and leave before the reply that
// follows.
type Publisher interface {
	Publish(m *nats.Msg)
}

// Options are what a [Hinter] works with.
type Options struct {
	Answers   *run.Answers
	Publisher Publisher
	Prefix    subjects.Prefix
	// MaxPayload bounds a turn_begun event, in bytes; 0 is no bound.
	MaxPayload int64
	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Hinter makes hints.
type Hinter struct {
	Options
	settings atomic.Pointer[Settings]
	metrics  *metrics
}

// New returns a hinter; Use must be called before the first request.
func New(o Options) *Hinter {
	return &Hinter{Options: o, metrics: newMetrics(o.Registerer)}
}

// Use makes later requests use other settings.
func (h *Hinter) Use(s *Settings) { h.settings.Store(s) }

// Handler is the hinter's part of before_prompt_build.
func (h *Hinter) Handler() hook.Handler {
	return hook.Handler{Name: "hint", Handle: h.handle, Omitted: h.omitted}
}

// Unasked is the [hook.Hook] function for before_prompt_build.
func (h *Hinter) Unasked(cause error, took time.Duration) map[string][]string {
	if errors.Is(cause, hook.ErrOverloaded) {
		h.metrics.skip(eligibility.Overloaded, took)
		return header(took, run.Answer{Skip: eligibility.Overloaded}, "")
	}
	h.metrics.badRequests.Inc()
	return header(took, run.Answer{}, "")
}

// turn is one request on its way to an answer.
type turn struct {
	req     *hook.Request
	event   payload.BeforePromptBuild
	set     *Settings
	agent   string
	catalog *intents.Catalog
	latest  string
	// Set by prepare.
	in classify.Input
}

func (h *Hinter) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	t := turn{req: req, set: h.settings.Load(), agent: req.Context.Agent()}
	var err error
	if t.event, err = payload.DecodeBeforePromptBuild(req.Envelope.Event); err != nil {
		h.metrics.badRequests.Inc()
		return hook.Result{Header: header(time.Since(req.Received), run.Answer{}, "")}, err
	}
	t.catalog = t.set.Catalog(t.agent)
	t.latest = conversation.Latest(t.event.Prompt)
	if skip := eligibility.Check(t.set.Rules, req.Context, t.latest, len(t.catalog.Enabled()) > 0); skip != "" {
		took := time.Since(req.Received)
		if req.Commit() {
			h.metrics.skip(skip, took)
		}
		return hook.Result{Header: header(took, run.Answer{Skip: skip}, "")}, nil
	}
	patience, cancel := context.WithDeadline(ctx, req.Deadline.Add(-slack(req)))
	defer cancel()
	a, origin := h.Answers.First(patience, run.Request{
		Key: run.Key(req.Context), Prompt: t.event.Prompt, Deadline: req.Deadline,
		Prepare:   t.prepare,
		AsksModel: func() bool { return t.set.Classifier.AsksModel(t.in) },
		Classify:  func(ctx context.Context) run.Answer { return h.classify(ctx, t) },
		Commit:    req.Commit,
	})
	if origin == run.Fresh {
		h.begin(t, a)
	}
	source := sourceOf(a, origin)
	took := time.Since(req.Received)
	switch {
	case !req.Commit(): // omitted has counted it
	case a.Skip != "":
		h.metrics.skip(a.Skip, took)
	default:
		h.metrics.hint(source, a.Result.Intent, took)
	}
	if h.Log.Enabled(ctx, slog.LevelDebug) {
		h.Log.DebugContext(ctx, "hint", logged(t, a, source, took)...)
	}
	res := hook.Result{Header: header(took, a, source)}
	if a.Hint != "" {
		res.Decision = hook.PrependContext(a.Hint)
	}
	return res, nil
}

// omitted returns the diagnostics of a reply without this handler's answer.
func (h *Hinter) omitted(req *hook.Request, cause error) hook.Result {
	skip := eligibility.ClassifyFailed
	if errors.Is(cause, hook.ErrOverrun) {
		skip = eligibility.Deadline
	}
	took := time.Since(req.Received)
	h.metrics.skip(skip, took)
	return hook.Result{Header: header(took, run.Answer{Skip: skip}, "")}
}

// prepare makes the classifier's input of what the request holds. first is the
// prompt of the run's first request.
func (t *turn) prepare(first string) {
	if first != t.event.Prompt {
		t.event.Prompt = first
		t.latest = conversation.Latest(first)
	}
	t.in = classify.Input{
		Catalog:      t.catalog,
		Conversation: conversation.History(conversation.Before(t.latest, t.event.Messages), t.set.QueryMode, t.set.Window),
		Latest:       t.latest,
		Now:          time.Now().In(t.set.Location),
		RunModel:     t.req.Context.Model(),
	}
}

// slack is the time reserved before the deadline for the work after the model's
// answer: rendering the hint and publishing the turn. It takes longest on a busy
// machine with many late requests.
func slack(req *hook.Request) time.Duration {
	return max(5*time.Millisecond, req.Deadline.Sub(req.Received)/50)
}

// classify makes an answer.
func (h *Hinter) classify(ctx context.Context, t turn) run.Answer {
	began := time.Now()
	c, err := t.set.Classifier.Classify(ctx, t.in)
	if err != nil {
		return run.Answer{Skip: failure(err)}
	}
	h.metrics.classified(c.Source, time.Since(began))
	c.ElapsedMs = milliseconds(time.Since(t.req.Received))
	if c.Confidence < t.set.MinConfidence {
		return run.Answer{Skip: eligibility.LowConfidence, Result: &c}
	}
	return run.Answer{Result: &c, Hint: render.Hint(c, t.catalog, t.set.Complexity)}
}

// failure is the Hint-Skip of an error of the classifier.
func failure(err error) eligibility.Skip {
	switch {
	case errors.Is(err, classify.ErrOverloaded):
		return eligibility.Overloaded
	case errors.Is(err, classify.ErrDeadline), errors.Is(err, context.DeadlineExceeded):
		return eligibility.Deadline
	default:
		return eligibility.ClassifyFailed
	}
}

// header is the diagnostics of a reply (contract §3).
func header(took time.Duration, a run.Answer, source string) map[string][]string {
	out := make(map[string][]string, 6)
	if c := a.Result; c != nil {
		if a.Skip == "" {
			out[subjects.HeaderIntent] = []string{c.Intent}
		}
		out[subjects.HeaderConfidence] = []string{strconv.FormatFloat(c.Confidence, 'f', 2, 64)}
		out[subjects.HeaderSource] = []string{source}
		if c.Model != "" {
			out[subjects.HeaderModel] = []string{c.Model}
		}
	}
	if a.Skip != "" {
		out[subjects.HeaderSkip] = []string{string(a.Skip)}
	}
	out[subjects.HeaderElapsedMs] = []string{strconv.FormatFloat(milliseconds(took), 'f', 3, 64)}
	return out
}

// sourceOf is the Hint-Source of an answer.
func sourceOf(a run.Answer, origin run.Origin) string {
	switch {
	case origin == run.Repeated:
		return payload.SourceCache
	case a.Result == nil:
		return ""
	}
	return a.Result.Source
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// logged returns the attributes of a hint's debug line. The user's text is logged
// at debug level only.
func logged(t turn, a run.Answer, source string, took time.Duration) []any {
	out := []any{
		"agent", t.agent, "session", t.req.Context.Session(), "run", t.req.Context.RunID,
		"source", source, "skip", a.Skip, "took_ms", milliseconds(took), "prompt", t.latest,
	}
	if a.Result != nil {
		out = append(out, "intent", a.Result.Intent, "confidence", a.Result.Confidence, "model", a.Result.Model)
	}
	return out
}
