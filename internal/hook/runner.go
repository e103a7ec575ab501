package hook

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"intenthint/internal/bus"
	"intenthint/internal/loglimit"
	"intenthint/internal/panics"
	"intenthint/internal/tracing"
	"intenthint/payload"
	"intenthint/subjects"
)

// Runner answers the requests of one hook.
type Runner struct {
	hook  Hook
	opts  Options
	lines loglimit.Limit
}

// Options of a [Runner]. The functions are called for every request, so that
// settings may change while it runs.
type Options struct {
	// Timeout is the longest that a request may take (HINT_TIMEOUT_MS).
	Timeout func() time.Duration
	// Budget is the time that each handler of a hook has (HINT_HOOK_TIMEOUTS);
	// 0 means the rest of the request's time.
	Budget func(hook string) time.Duration
	// Asked, if not nil, is told of each valid request. It must not block.
	Asked func(req *Request)
	Log   *slog.Logger
}

// NewRunner returns the runner of a hook.
func NewRunner(h Hook, o Options) *Runner {
	h.Handlers = slices.Clone(h.Handlers)
	slices.SortStableFunc(h.Handlers, func(a, b Handler) int { return b.Priority - a.Priority })
	if h.Unasked == nil {
		h.Unasked = func(error, time.Duration) map[string][]string { return nil }
	}
	return &Runner{hook: h, opts: o}
}

// Endpoint returns the endpoint at which a NATS service answers requests with
// this runner.
func (r *Runner) Endpoint(prefix subjects.Prefix) bus.Endpoint {
	return bus.Endpoint{
		Name: r.hook.Name, Subject: prefix.RequestsOf(r.hook.Name), Bound: r.hook.Bound,
		Metadata:   map[string]string{"hook": r.hook.Name},
		Answer:     r.Answer,
		Overloaded: r.overloaded,
	}
}

// staleTime is how long a request must have waited to be too old for an answer,
// even if its budget is almost zero: a local answer takes less.
const staleTime = 50 * time.Millisecond

// Answer answers one request. reply is called once: before Answer returns or,
// when a handler overran, on another goroutine, which asks the remaining ones.
func (r *Runner) Answer(ctx context.Context, in bus.Request, reply func(bus.Reply)) {
	ctx, span := tracing.Request(ctx, r.hook.Name, in.Traceparent, in.Received)
	if span.IsRecording() {
		reply = traced(span, reply)
	}
	req := &Request{Received: in.Received, Traceparent: tracing.Parent(ctx, in.Traceparent), Version: in.Version, Caller: in.Caller}
	var err error
	if req.Envelope, err = payload.DecodeRequest(in.Data); err == nil {
		req.Context, err = payload.DecodeRequestContext(req.Envelope.Ctx)
	}
	if err != nil {
		reply(refused(err, r.hook.Unasked(err, time.Since(in.Received))))
		return
	}
	if req.Envelope.Hook != r.hook.Name {
		// The payload takes precedence (contract §2).
		reply(replyOf(nil, r.hook.Unasked(ErrOtherHook, time.Since(in.Received)), in.Traceparent))
		return
	}
	if r.opts.Asked != nil {
		r.opts.Asked(req)
	}
	req.Deadline, req.Margin = deadline(in.Received, in.Timeout, r.opts.Timeout())
	if now := time.Now(); now.After(req.Deadline) && now.Sub(in.Received) > staleTime {
		reply(r.overloaded(in))
		return
	}
	(&round{runner: r, ctx: ctx, req: req, traceparent: in.Traceparent, left: r.hook.Handlers, reply: reply}).proceed()
}

// untraced are the headers of a reply that quote texts, or repeat the request.
var untraced = []string{subjects.HeaderReason, subjects.HeaderSkills, subjects.HeaderTraceparent}

// traced returns a reply that ends the span of its request, with what its headers say
// of the decision: Hint-Intent is hint.intent.
func traced(span trace.Span, reply func(bus.Reply)) func(bus.Reply) {
	return func(out bus.Reply) {
		reply(out)
		for name, values := range out.Header {
			if !slices.Contains(untraced, name) && len(values) > 0 {
				span.SetAttributes(tracing.String(strings.ReplaceAll(strings.ToLower(name), "-", "."), values[0]))
			}
		}
		failure := ""
		if out.Code != 0 {
			failure = strconv.Itoa(out.Code)
		}
		tracing.End(span, failure)
	}
}

// overloaded answers a request that cannot be begun (contract §3).
func (r *Runner) overloaded(in bus.Request) bus.Reply {
	return replyOf(nil, r.hook.Unasked(ErrOverloaded, time.Since(in.Received)), in.Traceparent)
}

// replyOf makes the reply for a decision; nil means no decision. The request's
// trace context is returned.
func replyOf(d Decision, header map[string][]string, traceparent string) bus.Reply {
	body := []byte("{}")
	if d != nil {
		body = payload.JSON(d)
	}
	if traceparent != "" {
		if header == nil {
			header = map[string][]string{}
		}
		header[subjects.HeaderTraceparent] = []string{traceparent}
	}
	return bus.Reply{Body: body, Header: nats.Header(header)}
}

// refused answers a request that is not valid.
func refused(err error, header map[string][]string) bus.Reply {
	return bus.Reply{Body: []byte("{}"), Header: nats.Header(header), Code: 400, Error: err.Error()}
}

// round is one request on its way past the handlers of its hook. It belongs to
// one goroutine at a time.
type round struct {
	runner *Runner
	ctx    context.Context //nolint:containedctx // the request's
	req    *Request
	// traceparent is the trace context of the caller, which the reply returns.
	traceparent string
	left        []Handler
	reply       func(bus.Reply)
	decision    Decision
	header      map[string][]string
}

// proceed asks the remaining handlers, and replies.
func (r *round) proceed() {
	for len(r.left) > 0 && (r.decision == nil || !r.decision.Final()) {
		h := r.left[0]
		r.left = r.left[1:]
		res, inTime, err := r.ask(h)
		if !inTime {
			return // another goroutine has proceeded
		}
		if errors.Is(err, payload.ErrInvalid) {
			r.reply(refused(err, res.Header))
			return
		}
		r.add(h, res, err)
	}
	r.reply(replyOf(r.decision, r.header, r.traceparent))
}

// add joins the contribution of a handler.
func (r *round) add(h Handler, res Result, err error) {
	if err != nil {
		r.runner.lines.Warn(r.runner.opts.Log, "handler skipped", "hook", r.runner.hook.Name, "handler", h.Name, "error", err)
		res = Result{}
		if h.Omitted != nil {
			res.Header = h.Omitted(r.req, err).Header
		}
	}
	if r.header == nil {
		r.header = res.Header
	} else {
		maps.Copy(r.header, res.Header)
	}
	switch {
	case res.Decision == nil:
	case r.decision == nil:
		r.decision = res.Decision
	default:
		r.decision = r.decision.Join(res.Decision)
	}
}

// ask gives a handler its time. When it overruns, the round goes on without it
// on another goroutine, and inTime is false once the handler does return.
func (r *round) ask(h Handler) (res Result, inTime bool, err error) {
	deadline := r.req.Deadline
	if budget := r.runner.opts.Budget(r.runner.hook.Name); budget > 0 {
		if own := time.Now().Add(budget); own.Before(deadline) {
			deadline = own
		}
	}
	ctx, cancel := context.WithDeadline(r.ctx, deadline)
	defer cancel()
	own := *r.req
	own.Deadline, own.fate = deadline, new(atomic.Int32)
	// A handler that respects its deadline may be a little late on a busy machine:
	// it gets half of the margin for the way back, and at least leastTime.
	grace := max(time.Until(deadline)+r.req.Margin/2, leastTime)
	overrun := time.AfterFunc(grace, func() {
		if own.fate.CompareAndSwap(undecided, leftOut) {
			r.add(h, Result{}, ErrOverrun)
			r.proceed()
		}
	})
	defer overrun.Stop()
	// A panic is the handler's failure.
	err = panics.Catch(func() (err error) {
		res, err = h.Handle(ctx, &own)
		return err
	})
	return res, own.fate.Swap(committed) != leftOut, err
}

// leastTime is the minimum time of a handler, whatever the budget: enough for
// an answer that needs no model.
const leastTime = 10 * time.Millisecond

// deadline is when an answer must leave: the smaller of the caller's budget (0:
// not given) and the configured one, counted from receipt, less a margin for
// the way back of 20 ms or a tenth, whichever is more (contract §3). It is not
// before receipt.
func deadline(received time.Time, caller, configured time.Duration) (at time.Time, margin time.Duration) {
	timeout := configured
	if caller > 0 && caller < timeout {
		timeout = caller
	}
	margin = max(20*time.Millisecond, timeout/10)
	return received.Add(max(timeout-margin, 0)), margin
}
