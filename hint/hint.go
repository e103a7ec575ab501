// Package hint answers before_prompt_build with a routing hint: which turns get
// one (package eligibility), the turns to classify (package conversation), the
// classification (package classify), the run's first answer (package run), and
// the text (package render). Every turn that begins is published as a
// turn_begun event, from which sessions are made (contract §4–§6, §8).
package hint

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/classify"
	"intenthint/conversation"
	"intenthint/hint/eligibility"
	"intenthint/hint/render"
	"intenthint/hint/repetition"
	"intenthint/hint/run"
	"intenthint/hint/writer"
	"intenthint/intents"
	"intenthint/internal/hook"
	"intenthint/internal/loglimit"
	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/payload"
	"intenthint/subjects"
)

// Settings is everything that a hint is made from. It is immutable: a change of
// the configuration or the catalogue makes new settings, and a request uses the
// same settings from beginning to end.
type Settings struct {
	Rules eligibility.Rules
	// Catalog returns the intents that are available to an agent.
	Catalog func(agent string) *intents.Catalog

	QueryMode conversation.QueryMode
	Window    conversation.Window
	Location  *time.Location

	// Classifier may be nil in settings that answer no requests.
	Classifier *classify.Classifier
	// MinConfidence is the confidence below which no hint is given.
	MinConfidence float64
	// Style is how hints are written.
	Style render.Style
	// Writer rewrites the intent's prompt for the turn; nil for none.
	Writer *writer.Writer
	// Repeat is when a session is given a hint again that it already knows.
	Repeat repetition.Rule

	// Holdout is the share of sessions that get no hint.
	Holdout Holdout
	// Redact makes everything that is stored and logged of a turn pass package
	// redact (HINT_REDACT). Classifiers and gateways get the texts as they are.
	Redact bool
}

// Begin returns the conversation of the turn that a request begins; ok is false
// if the rules of contract §4 exclude the request.
func (s *Settings) Begin(ctx payload.Context, e payload.BeforePromptBuild) (before []payload.Turn, ok bool) {
	latest := conversation.Latest(e.Message())
	if s.check(ctx, latest, s.Catalog(ctx.Agent())) != eligibility.None {
		return nil, false
	}
	return s.recorded(e.Message(), latest, e.Messages), true
}

// check returns the first rule of contract §4 that a turn fails.
func (s *Settings) check(ctx payload.Context, latest string, catalog *intents.Catalog) eligibility.Skip {
	return eligibility.Check(s.Rules, ctx, latest, len(catalog.Enabled()) > 0)
}

// conversation returns the turns before the latest message, which the prompt
// holds.
func (s *Settings) conversation(prompt, latest string, messages []payload.Message) []payload.Turn {
	before := conversation.History(conversation.Before(latest, messages), s.QueryMode, s.Window)
	return append(before, conversation.Context(prompt, s.QueryMode, s.Window, nil)...)
}

// recorded returns the turns before the latest message as they are stored.
func (s *Settings) recorded(prompt, latest string, messages []payload.Message) []payload.Turn {
	if !s.Redact {
		return s.stored(s.conversation(prompt, latest, messages))
	}
	before := conversation.Redacted(conversation.Before(latest, messages), s.QueryMode, s.Window)
	return append(before, conversation.Context(prompt, s.QueryMode, s.Window, func(said string) string { return conversation.Stored(said, true) })...)
}

// stored returns the turns that a classifier saw as they are stored. Only in mode full
// they may be long.
func (s *Settings) stored(turns []payload.Turn) []payload.Turn {
	if s.QueryMode != conversation.ModeFull {
		return turns
	}
	return conversation.StoredTurns(turns, false)
}

// Publisher sends messages to the event stream without waiting for the
// acknowledgement. The messages carry Nats-Msg-Id, and are sent before the
// reply that follows.
type Publisher interface {
	Publish(m *nats.Msg)
}

// Options configure a [Hinter].
type Options struct {
	Answers   *run.Answers
	Publisher Publisher
	Prefix    subjects.Prefix
	// MaxPayload bounds a hint and its turn_begun event, in bytes; 0 means no bound.
	MaxPayload int64
	// Metrics are shared by all hinters of a process; nil for none.
	Metrics *Metrics
	Log     *slog.Logger
}

// Hinter makes hints.
type Hinter struct {
	Options
	settings atomic.Pointer[Settings]
	lines    loglimit.Limit
}

// New returns a hinter; Use must be called before the first request.
func New(o Options) *Hinter {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	return &Hinter{Options: o}
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
		h.Metrics.skip(eligibility.Overloaded, took)
		return header(took, run.Answer{Skip: eligibility.Overloaded}, "")
	}
	if !errors.Is(cause, hook.ErrOtherHook) {
		h.Metrics.badRequests.Inc()
	}
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
	// keyword is the intent of which the message is a keyword; nil for none.
	keyword *intents.Intent
}

func (h *Hinter) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	t := turn{req: req, set: h.settings.Load(), agent: req.Context.Agent()}
	var err error
	if t.event, err = payload.DecodeBeforePromptBuild(req.Envelope.Event); err != nil {
		h.Metrics.badRequests.Inc()
		return hook.Result{Header: header(time.Since(req.Received), run.Answer{}, "")}, err
	}
	t.catalog = t.set.Catalog(t.agent)
	t.latest = conversation.Latest(t.event.Message())
	if skip := t.set.check(req.Context, t.latest, t.catalog); skip != "" {
		took := time.Since(req.Received)
		if req.Commit() {
			h.Metrics.skip(skip, took)
		}
		return hook.Result{Header: nameSkills(header(took, run.Answer{Skip: skip}, ""), t.catalog)}, nil
	}
	if t.lacksSkills() { // the gateway asks again, with all skills
		return hook.Result{Header: nameSkills(header(time.Since(req.Received), run.Answer{}, ""), t.catalog)}, nil
	}
	patience, cancel := context.WithDeadline(ctx, req.Deadline.Add(-t.slack()))
	defer cancel()
	patience, asked := model.CountUse(model.WithCaller(patience, req.Caller))
	a, origin := h.Answers.First(patience, run.Request{
		Key: run.Key(req.Context), Prompt: t.event.Message(), Deadline: req.Deadline,
		Prepare: func(first string) {
			t.prepare(first)
			t.in.Earlier = h.earlier(t)
		},
		AsksModel: t.asksModel,
		Classify:  func(ctx context.Context) run.Answer { return h.classify(ctx, t) },
		Commit:    req.Commit,
	})
	switch {
	case origin == run.Fresh:
		h.begin(t, a, asked)
	case origin == run.Repeated && a.Skip == eligibility.Unchanged && a.Result != nil:
		a = h.again(t, a)
	case origin == run.Repeated && a.Hint != "" && a.Skip == "" && a.Result != nil && h.Answers.Sessions.Forgot(t.req.Context.Session()):
		// The hint of the retry is now the session's last one.
		h.amend(t, a)
	}
	source := sourceOf(a, origin)
	took := time.Since(req.Received)
	switch {
	case !req.Commit(): // omitted has counted it
	case a.Skip != "":
		h.Metrics.skip(a.Skip, took)
	default:
		h.Metrics.Hinted(source, a.Result.Intent, took)
	}
	if h.Log.Enabled(ctx, slog.LevelDebug) {
		h.Log.DebugContext(ctx, "hint", logged(t, a, source, took)...)
	}
	res := hook.Result{Header: nameSkills(header(took, a, source), t.catalog)}
	if a.Hint != "" {
		res.Decision = hook.PrependContext{Text: a.Hint}
	}
	return res, nil
}

// again answers a retry whose hint was suppressed as already known. If a compaction
// has removed that hint from the conversation in the meantime, it is given now.
func (h *Hinter) again(t turn, a run.Answer) run.Answer {
	rule := t.set.Repeat
	rule.After = 0 // a retry is not a turn
	if rule.Known(h.Answers.Sessions.Last(t.req.Context.Session()), t.lastHint(*a.Result)) {
		return a
	}
	a = h.say(t, *a.Result, func(task writer.Task) string {
		body, _ := t.set.Writer.Cached(task)
		return body
	})
	h.amend(t, a)
	return a
}

// omitted returns the diagnostics of a reply without this handler's answer.
func (h *Hinter) omitted(req *hook.Request, cause error) hook.Result {
	skip := eligibility.ClassifyFailed
	if errors.Is(cause, hook.ErrOverrun) {
		skip = eligibility.Deadline
	}
	took := time.Since(req.Received)
	h.Metrics.skip(skip, took)
	return hook.Result{Header: header(took, run.Answer{Skip: skip}, "")}
}

// asksModel reports whether a model may be asked about the turn.
func (t *turn) asksModel() bool {
	writes := t.set.Writer != nil && t.set.Style.Form != render.Brief
	return t.keyword == nil && (writes || t.set.Classifier.AsksModel(&t.in))
}

// prepare makes the classifier's input from the request. first is what the user
// asked in the run's first request.
func (t *turn) prepare(first string) {
	if first != t.event.Message() {
		t.event.Prompt, t.event.Current = first, nil
		t.latest = conversation.Latest(first)
	}
	t.in = classify.Input{
		Catalog:      t.catalog,
		Conversation: t.set.conversation(t.event.Message(), t.latest, t.event.Messages),
		Said:         conversation.Said(conversation.Before(t.latest, t.event.Messages), t.set.QueryMode, t.set.Window),
		Latest:       t.latest,
		Paste:        conversation.Pasted(t.event.Message()),
		Now:          time.Now().In(t.set.Location),
		RunModel:     t.req.Context.Model(),
	}
	if in, ok := t.catalog.Keyword(t.latest); ok {
		t.keyword = &in
	}
}

// earlier returns the user's earlier messages in the session if the
// conversation has none, and the local classifier is asked.
func (h *Hinter) earlier(t turn) []payload.Turn {
	if t.keyword != nil || t.set.Classifier.Mode() == classify.ModeLLM {
		return nil
	}
	limit := conversation.EarlierTurns(t.set.QueryMode, t.set.Window)
	if limit == 0 || slices.ContainsFunc(t.in.Conversation, func(before payload.Turn) bool { return before.Role == payload.RoleUser }) {
		return nil
	}
	return h.Answers.Earlier.Before(t.req.Context.Session(), t.req.Context.RunID, t.began(), limit)
}

// began returns when the turn begins, in Unix milliseconds: the time of the
// request for its hint.
func (t *turn) began() int64 {
	if ts := t.req.Envelope.TS; ts > 0 {
		return ts
	}
	return t.req.Received.UnixMilli()
}

// slack is the time reserved before the deadline for the work after the model's
// answer: rendering the hint and publishing the turn. This work takes longest
// on a busy machine with many late requests. Redacting a long history takes
// longer still; up to half of the request's time is reserved for it.
func (t *turn) slack() time.Duration {
	given := t.req.Deadline.Sub(t.req.Received)
	out := max(5*time.Millisecond, given/50)
	if t.set.Redact {
		out += min(time.Duration(len(t.req.Envelope.Event)/redactedBytesPerMs)*time.Millisecond, given/2)
	}
	return out
}

// redactedBytesPerMs is half the speed that docs/privacy.md gives for a text
// with an address.
const redactedBytesPerMs = 6_000

// classify makes an answer by classifying the message.
func (h *Hinter) classify(ctx context.Context, t turn) run.Answer {
	c, err := t.set.Classifier.Classify(ctx, t.in)
	if err != nil {
		return run.Answer{Skip: failure(err)}
	}
	if t.keyword == nil {
		h.Metrics.sure(c.Source, c.Confidence)
	}
	c.ElapsedMs = milliseconds(time.Since(t.req.Received))
	if c.Confidence < t.set.MinConfidence {
		return run.Answer{Skip: eligibility.LowConfidence, Result: &c}
	}
	if t.set.Holdout.Holds(t.req.Context.Session()) {
		return run.Answer{Skip: eligibility.Holdout, Result: &c}
	}
	if t.set.Repeat.Known(h.Answers.Sessions.Last(t.req.Context.Session()), t.lastHint(c)) {
		return run.Answer{Skip: eligibility.Unchanged, Result: &c}
	}
	return h.say(t, c, func(task writer.Task) string {
		began := time.Now()
		body, outcome := t.set.Writer.Write(ctx, task)
		h.Metrics.wrote(outcome, time.Since(began))
		return body
	})
}

// say makes the answer with the hint of a classification. write returns the
// writer's version of the intent's prompt, "" for none; it is called if there
// is a writer and the hint contains the prompt.
func (h *Hinter) say(t turn, c payload.Classification, write func(writer.Task) string) run.Answer {
	in, form := t.intent(c), h.form(t, c)
	a := run.Answer{Result: &c}
	if render.Prompted(c, in, form) {
		var skills render.Named
		if len(intents.SkillMentions(in.Prompt)) > 0 {
			skills = render.Skills(in.Prompt, payload.DecodeSkills(t.req.Envelope.Ctx))
			in.Prompt, a.Skills = skills.Prompt, skills.Listed
			h.Metrics.skillsHinted(len(skills.Listed), skills.Unknown)
		}
		if t.set.Writer != nil {
			in.Prompt = cmp.Or(write(writer.Task{
				Session: t.req.Context.Session(), Result: c, Intent: in, Skills: skills.Lines, Conversation: t.in.Conversation, Latest: t.latest,
			}), in.Prompt)
		}
	}
	a.Hint = t.set.Style.Hint(c, in, t.latest, form)
	a.Full = form != render.Brief && !t.ownHint()
	if form != render.Brief && !h.fits(t, a) {
		h.lines.Warn(h.Log, "hint too large for the server, shortened", "intent", c.Intent, "bytes", len(a.Hint), "max_payload", h.MaxPayload)
		// Full stays, as there is no more to say on the next turn.
		a.Hint, a.Skills = t.set.Style.Hint(c, in, t.latest, render.Brief), nil
	}
	return a
}

// form returns the form of a hint: brief if the gateway keeps hints in the
// conversation, and the intent's prompt is already there, or enough of others.
func (h *Hinter) form(t turn, c payload.Classification) render.Form {
	if h.briefly(t, t.lastHint(c)) {
		return render.Brief
	}
	return t.set.Style.Form
}

// briefly reports whether a hint is to be brief because of those that the session's
// conversation holds.
func (h *Hinter) briefly(t turn, now payload.LastHint) bool {
	ctx := t.req.Context
	return ctx.KeepsHints && t.set.Repeat.Brief(h.Answers.Sessions.Kept(ctx.Session(), int64(ctx.KeptSince)), now, t.ownHint())
}

// failure returns the Hint-Skip for an error of the classifier.
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

// maxReason bounds the reason in a header, in characters, as a field of a hint is.
const maxReason = 300

// header returns the diagnostics of a reply (contract §3).
func header(took time.Duration, a run.Answer, source string) map[string][]string {
	out := make(map[string][]string, 6)
	if c := a.Result; c != nil {
		if a.Skip == "" || a.Skip == eligibility.Unchanged || a.Skip == eligibility.Holdout {
			out[subjects.HeaderIntent] = []string{c.Intent}
			out[subjects.HeaderReason] = []string{text.OneLine(c.Reason, maxReason)}
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

// sourceOf returns the Hint-Source of an answer.
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
	prompt := t.latest
	if t.set.Redact {
		prompt = conversation.Latest(conversation.Stored(t.event.Message(), true))
	}
	out := []any{
		"agent", t.agent, "session", t.req.Context.Session(), "run", t.req.Context.RunID,
		"source", source, "skip", a.Skip, "took_ms", milliseconds(took), "prompt", prompt,
	}
	if a.Result != nil {
		out = append(out, "intent", a.Result.Intent, "confidence", a.Result.Confidence, "model", a.Result.Model)
	}
	return out
}
