package triage

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"
	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/hook"
	"intenthint/internal/loglimit"
	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/payload"
	"intenthint/redact"
	"intenthint/triage/state"
)

// State is the state that the gates of all processes share.
type State interface {
	Decisions
	Conversation
}

// Decisions are the decisions about messages.
type Decisions interface {
	Decision(ctx context.Context, group, messageID string) (d state.Decision, ok bool, err error)
	Decide(ctx context.Context, d state.Decision) (standing state.Decision, first bool, err error)
	Pend(ctx context.Context, group, messageID string, now time.Time) error
	// Complete gives a mark that was made before the decision its text.
	Complete(ctx context.Context, d state.Decision) error
}

// Conversation holds the recent messages of groups.
type Conversation interface {
	Remember(ctx context.Context, group string, m state.RecentMessage, k state.Keep) (before []state.RecentMessage, err error)
	Answered(ctx context.Context, group, messageID string) error
}

// Options configure a [Gate].
type Options struct {
	State State
	// Metrics are shared by all gates of a process; nil for none.
	Metrics *Metrics
	Log     *slog.Logger
}

// Gate decides about messages.
type Gate struct {
	Options
	stateTime time.Duration // the constant, except in tests
	settings  atomic.Pointer[Settings]
	marks     atomic.Pointer[[]state.Mark]
	flights   flights
	lines     loglimit.Limit
}

// New returns a gate; Use must be called before the first request.
func New(o Options) *Gate {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	return &Gate{Options: o, stateTime: stateTime}
}

// Use makes later requests use other settings.
func (g *Gate) Use(s *Settings) { g.settings.Store(s) }

// Settings returns the settings in force.
func (g *Gate) Settings() *Settings { return g.settings.Load() }

// UseMarks makes later requests use other marks, newest first.
func (g *Gate) UseMarks(marks []state.Mark) {
	g.marks.Store(&marks)
	g.Metrics.marks.Set(float64(len(marks)))
}

func (g *Gate) marked() []state.Mark {
	if p := g.marks.Load(); p != nil {
		return *p
	}
	return nil
}

// Handler returns the gate's handler of before_dispatch.
func (g *Gate) Handler() hook.Handler {
	return hook.Handler{Name: "triage", Handle: g.handle, Omitted: g.omitted}
}

// Unasked is the [hook.Hook] function for before_dispatch.
func (g *Gate) Unasked(_ error, took time.Duration) map[string][]string {
	return g.failed(took).Header
}

// outcome is a decision, and whether it was made before.
type outcome struct {
	state.Decision
	repeat bool
}

// skips reports whether the message is skipped.
func (o outcome) skips() bool { return o.Verdict == state.Skip }

func (g *Gate) handle(ctx context.Context, req *hook.Request) (hook.Result, error) {
	e, err := payload.DecodeBeforeDispatch(req.Envelope.Event, req.Envelope.Ctx)
	if err != nil {
		return g.failed(time.Since(req.Received)), err
	}
	id := req.Envelope.ID
	if id == "" {
		id = nuid.Next() // repeats of this message cannot be recognised
	}
	c := request{req: req, set: g.settings.Load(), m: NewMessage(e, req.Context, id, req.Received)}
	var o outcome
	if v, ok := c.set.Outside(c.m); ok {
		o.Decision = c.decision(v)
		req.Commit()
	} else {
		o = g.flights.share(ctx, c.m, func() outcome {
			o := g.decide(model.WithCaller(ctx, req.Caller), c)
			g.complete(ctx, c, o.Decision)
			return o
		}, c.failure)
		if v, ok := c.set.ByText(c.m); ok && v.Reason == BotName && o.repeat && o.skips() {
			// It was skipped for an agent with another name, in a group that several
			// gateways read.
			o.Decision = c.decision(v)
		}
	}
	took := time.Since(req.Received)
	if req.Commit() {
		g.Metrics.decided(o, took)
	}
	if c.set.LogDecisions {
		g.Log.Info("triage decision", logged(o, took)...)
	}
	return result(o, took), nil
}

// omitted returns the reply without this handler's answer.
func (g *Gate) omitted(req *hook.Request, _ error) hook.Result {
	return g.failed(time.Since(req.Received))
}

// failed returns the reply to a request about which no decision is possible.
func (g *Gate) failed(took time.Duration) hook.Result {
	var o outcome
	o.Verdict, o.Reason = state.Respond, string(Failed)
	g.Metrics.decided(o, took)
	return result(o, took)
}

// Diagnostics on every reply to before_dispatch (contract §11).
const (
	HeaderDecision  = "Triage-Decision"
	HeaderReason    = "Triage-Reason"
	HeaderScore     = "Triage-Score"
	HeaderModel     = "Triage-Model"
	HeaderElapsedMs = "Triage-Elapsed-Ms"
)

// result returns the reply (contract §11).
func result(o outcome, took time.Duration) hook.Result {
	header := map[string][]string{
		HeaderDecision:  {o.Verdict},
		HeaderReason:    {o.Reason},
		HeaderElapsedMs: {strconv.FormatFloat(milliseconds(took), 'f', 3, 64)},
	}
	if o.Score > 0 {
		header[HeaderScore] = []string{strconv.Itoa(o.Score)}
	}
	if o.Model != "" {
		header[HeaderModel] = []string{o.Model}
	}
	if o.skips() {
		return hook.Result{Decision: hook.Handled{}, Header: header}
	}
	return hook.Result{Header: header}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// logged returns the log attributes of a decision, without people's texts.
func logged(o outcome, took time.Duration) []any {
	return []any{
		"group", o.Group, "message", o.MessageID, "decision", o.Verdict, "reason", o.Reason, "score", o.Score,
		"model", o.Model, "repeat", o.repeat, "took_ms", milliseconds(took),
	}
}

// request is a message on its way to a decision.
type request struct {
	req *hook.Request
	set *Settings
	m   Message
}

// maxText is how much of a message is kept with its decision, in characters.
const maxText = 500

// decision returns a verdict in the form in which it is stored.
func (c request) decision(v Verdict) state.Decision {
	return state.Decision{
		Group: c.m.Group, MessageID: c.m.ID, Agent: c.m.Agent, Sender: c.m.Sender,
		Text: text.Cut(c.stored(), maxText), At: c.m.At.UnixMilli(),
		Verdict: v.Word(), Reason: string(v.Reason), Score: v.Score,
		ElapsedMs: milliseconds(time.Since(c.req.Received)),
	}
}

// stored returns the text as it is stored, on one line.
func (c request) stored() string {
	s := c.m.Text
	if c.set.Redact {
		s = redact.Head(s, maxContent)
	}
	s = text.CutBytes(s, maxBytesPerCharacter*maxText)
	return text.OneLine(s, len(s))
}

// failure returns the decision about a message when something goes wrong.
func (c request) failure() outcome { return outcome{Decision: c.decision(Verdict{Reason: Failed})} }

// instead returns the decision about a message if d cannot be used. It keeps the tokens
// of d, which were spent all the same.
func (c request) instead(d state.Decision) state.Decision {
	out := c.failure().Decision
	out.Tokens = d.Tokens
	return out
}

// decide finds the decision about a message, or makes and stores one.
func (g *Gate) decide(ctx context.Context, c request) outcome {
	known, ok, err := g.known(ctx, c.m)
	if ok {
		return outcome{Decision: known, repeat: true}
	}
	var d state.Decision
	if err == nil {
		d, err = g.judge(ctx, c)
	} else {
		// Without the shared state, only the rules about the text apply.
		v, ok := c.set.ByText(c.m)
		if d = c.failure().Decision; ok && !v.Skip {
			d, err = c.decision(v), nil
		}
	}
	if err != nil {
		g.lines.Warn(g.Log, "triage failed, message let through", "group", c.m.Group, "message", c.m.ID, "error", err)
	}
	// From here on the runner waits for the answer. If it did not, the gateway was
	// told to let the message through.
	if !c.req.Commit() {
		d = c.instead(d)
	}
	return g.store(ctx, c, d)
}

// known looks for the decision about a message.
func (g *Gate) known(ctx context.Context, m Message) (d state.Decision, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.stateTime)
	defer cancel()
	if d, ok, err = g.State.Decision(ctx, m.Group, m.ID); err != nil {
		g.stateFailed(opDecision, m, err)
	}
	return d, ok, err
}

// slack returns the time reserved for storing a decision.
func (c request) slack() time.Duration {
	return min(c.req.Deadline.Sub(c.req.Received)/4, maxSlack)
}

const (
	// stateTime bounds one read or write of the shared state. A cluster usually
	// answers within milliseconds.
	stateTime = 500 * time.Millisecond
	maxSlack  = 250 * time.Millisecond
	// leastStoreTime is the minimum time for storing a decision when the deadline
	// is near.
	leastStoreTime = 10 * time.Millisecond
)

// judge decides about a message. An error comes with a decision to respond.
func (g *Gate) judge(ctx context.Context, c request) (state.Decision, error) {
	ctx, cancel := context.WithDeadline(ctx, c.req.Deadline.Add(-c.slack()))
	defer cancel()
	before, recentErr := g.remember(ctx, c)
	if recentErr != nil {
		v, ok := c.set.ByText(c.m)
		if !ok {
			return c.failure().Decision, recentErr
		}
		return c.decision(v), nil
	}
	t, err := c.set.Try(ctx, c.m, before, g.marked())
	d := c.decision(t.Verdict)
	d.Model, d.Tokens = t.Model, t.Tokens
	return d, err
}

// remember adds the message to the recent ones of its group, if anything asks for
// them, and returns those before it.
func (g *Gate) remember(ctx context.Context, c request) ([]state.RecentMessage, error) {
	k := c.set.keep()
	if k.Texts == 0 && k.People == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.stateTime)
	defer cancel()
	before, err := g.State.Remember(ctx, c.m.Group, c.recentMessage(), k)
	if err != nil {
		g.stateFailed(opRecent, c.m, err)
	}
	return before, err
}

// recentMessage returns the message as later ones see it.
func (c request) recentMessage() state.RecentMessage {
	out := state.RecentMessage{ID: c.m.ID, At: c.m.At.UnixMilli()}
	if c.set.keep().Texts > 0 {
		out.Sender, out.Text = c.m.Sender, line(c.stored(), maxLine)
	}
	return out
}

// store stores a decision and returns the one in force. A message that cannot
// be stored as skipped is let through.
func (g *Gate) store(ctx context.Context, c request, d state.Decision) outcome {
	ctx, cancel := g.storing(ctx, c)
	defer cancel()
	// A message without text, such as a picture, has nothing to tell.
	if d.Verdict == state.Skip && c.set.Recall > 0 && strings.TrimSpace(d.Text) != "" {
		if err := g.State.Pend(ctx, c.m.Group, c.m.ID, time.Now()); err != nil {
			g.stateFailed(opSkipped, c.m, err)
			d = c.instead(d)
		}
	}
	standing, first, err := g.State.Decide(ctx, d)
	switch {
	case err == nil:
		g.answered(ctx, c, standing)
		return outcome{Decision: standing, repeat: !first}
	case d.Verdict == state.Skip:
		d = c.instead(d)
	}
	g.stateFailed(opDecision, c.m, err)
	return outcome{Decision: d}
}

// storing returns a context for writing to the shared state. The deadline of the
// request may have passed if the model was late.
func (g *Gate) storing(ctx context.Context, c request) (context.Context, context.CancelFunc) {
	left := max(time.Until(c.req.Deadline)+c.req.Margin/4, leastStoreTime)
	return context.WithTimeout(context.WithoutCancel(ctx), min(left, g.stateTime))
}

// complete gives a person's mark on the message, if it was made before the decision,
// the text of the message.
func (g *Gate) complete(ctx context.Context, c request, d state.Decision) {
	early := func(m state.Mark) bool { return m.Text == "" && m.MessageID == d.MessageID && m.Group == d.Group }
	if !slices.ContainsFunc(g.marked(), early) {
		return
	}
	ctx, cancel := g.storing(ctx, c)
	defer cancel()
	if err := g.State.Complete(ctx, d); err != nil {
		g.stateFailed(opMark, c.m, err)
	}
}

// answered records that a message is answered: the trained gate uses this for
// the messages before the current one.
func (g *Gate) answered(ctx context.Context, c request, d state.Decision) {
	if c.set.Local == nil || d.Verdict != state.Respond {
		return
	}
	if err := g.State.Answered(ctx, d.Group, d.MessageID); err != nil {
		g.stateFailed(opRecent, c.m, err)
	}
}

func (g *Gate) stateFailed(operation string, m Message, err error) {
	g.Metrics.failures.WithLabelValues(operation).Inc()
	if !errors.Is(err, context.Canceled) {
		g.lines.Warn(g.Log, "triage state failed", "operation", operation, "group", m.Group, "message", m.ID, "error", err)
	}
}
