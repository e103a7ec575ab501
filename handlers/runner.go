// Package handlers holds what happens at each hook, one file a hook, and the
// runner that lets several handlers contribute to one (contract §13).
package handlers

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"intenthint/internal/panics"
	"intenthint/payload"
	"intenthint/subjects"
)

// Request is one decision that a gateway asks for.
type Request struct {
	Envelope payload.Envelope
	Context  payload.Context
	// Received is when the request arrived here; budgets count from it.
	Received time.Time
	// Deadline is when the answer must leave, Margin what is kept after it for
	// the way back.
	Deadline    time.Time
	Margin      time.Duration
	Traceparent string

	fate *atomic.Int32
}

// What became of a handler's answer.
const (
	undecided int32 = iota
	committed       // the handler gives it
	leftOut         // nobody waits for it any more
)

// Commit says that the answer will be given: the runner waits for it from now
// on. False means that the handler was left out already, and what it would have
// answered was not said.
func (r *Request) Commit() bool {
	return r.fate == nil || r.fate.CompareAndSwap(undecided, committed) || r.fate.Load() == committed
}

// Result is what a handler contributes to the answer.
type Result struct {
	// PrependContext is text for the agent's prompt (before_prompt_build).
	PrependContext string
	// Handled ends the matter (before_dispatch).
	Handled bool
	// Header holds diagnostics for the reply.
	Header map[string][]string
}

// Handler answers at one hook. An error that wraps [payload.ErrInvalid] says
// that the request itself is wrong; after any other error the handler is left
// out. It must heed ctx.
type Handler func(ctx context.Context, req *Request) (Result, error)

// Omitted says what stands in the answer for a handler that was left out,
// because it overran ([ErrOverrun]) or failed.
type Omitted func(req *Request, cause error) Result

type entry struct {
	name     string
	priority int
	handle   Handler
	omitted  Omitted
}

// Runner holds the handlers of all decision hooks. Register everything before
// the first Run.
type Runner struct {
	log      *slog.Logger
	handlers map[string][]entry
	budgets  func(hook string) time.Duration
}

// NewRunner returns an empty runner. budgets gives the time that each handler
// of a hook has (HINT_HOOK_TIMEOUTS); 0 means the rest of the request's time.
func NewRunner(budgets func(hook string) time.Duration, log *slog.Logger) *Runner {
	return &Runner{log: log, handlers: map[string][]entry{}, budgets: budgets}
}

// On adds a handler to a hook. Handlers run in descending priority, those of
// one priority in the order in which they were added. omitted may be nil.
func (r *Runner) On(hook, name string, priority int, h Handler, omitted Omitted) {
	if omitted == nil {
		omitted = func(*Request, error) Result { return Result{} }
	}
	list := append(r.handlers[hook], entry{name, priority, h, omitted})
	slices.SortStableFunc(list, func(a, b entry) int { return b.priority - a.priority })
	r.handlers[hook] = list
}

// Hooks lists the hooks that have a handler, sorted.
func (r *Runner) Hooks() []string {
	var out []string
	for h := range r.handlers {
		out = append(out, h)
	}
	slices.Sort(out)
	return out
}

// Handles says whether a hook has a handler.
func (r *Runner) Handles(hook string) bool { return len(r.handlers[hook]) > 0 }

// ErrOverrun is logged for a handler that did not return in its time.
var ErrOverrun = errors.New("the handler overran its time")

// Run asks the handlers of a hook in turn and merges what they say: texts are
// joined by a blank line in the order of the handlers, the first that has
// handled a before_dispatch ends it. A handler that fails or overruns is left
// out. reply is called once: before Run returns or, when a handler has overrun,
// on another goroutine, which asks those that are left. Its error is non-nil
// only for a request that a handler refused as invalid; it wraps
// [payload.ErrInvalid].
func (r *Runner) Run(ctx context.Context, req *Request, reply func(Result, error)) {
	(&round{runner: r, ctx: ctx, req: req, left: r.handlers[req.Envelope.Hook], reply: reply}).proceed()
}

// round is one request on its way past the handlers of its hook. It belongs to
// one goroutine at a time.
type round struct {
	runner *Runner
	ctx    context.Context //nolint:containedctx // the request's
	req    *Request
	left   []entry
	reply  func(Result, error)
	merged Result
	texts  []string
}

// proceed asks the handlers that are left, and replies.
func (r *round) proceed() {
	for len(r.left) > 0 {
		e := r.left[0]
		r.left = r.left[1:]
		res, inTime, err := r.ask(e)
		if !inTime {
			return // another goroutine has proceeded
		}
		if errors.Is(err, payload.ErrInvalid) {
			r.reply(Result{Header: res.Header}, err)
			return
		}
		r.add(e, res, err)
		if r.merged.Handled && r.req.Envelope.Hook == subjects.HookBeforeDispatch {
			break
		}
	}
	r.merged.PrependContext = strings.Join(r.texts, "\n\n")
	r.reply(r.merged, nil)
}

// add merges what a handler said.
func (r *round) add(e entry, res Result, err error) {
	if err != nil {
		r.runner.log.Warn("a handler was left out", "hook", r.req.Envelope.Hook, "handler", e.name, "error", err)
		res = Result{Header: e.omitted(r.req, err).Header}
	}
	if r.merged.Header == nil {
		r.merged.Header = res.Header
	} else {
		maps.Copy(r.merged.Header, res.Header)
	}
	if res.PrependContext != "" {
		r.texts = append(r.texts, res.PrependContext)
	}
	r.merged.Handled = r.merged.Handled || res.Handled
}

// ask gives a handler its time. One that does not heed it holds nobody up:
// the round goes on without it, on another goroutine, and inTime is false once
// it does return.
func (r *round) ask(e entry) (res Result, inTime bool, err error) {
	deadline := r.req.Deadline
	if budget := r.runner.budgets(r.req.Envelope.Hook); budget > 0 {
		if own := time.Now().Add(budget); own.Before(deadline) {
			deadline = own
		}
	}
	ctx, cancel := context.WithDeadline(r.ctx, deadline)
	defer cancel()
	own := *r.req
	own.Deadline, own.fate = deadline, new(atomic.Int32)
	// A handler that heeds its deadline may be a little late on a busy machine:
	// it gets half of what is kept for the way back, and a moment in any case.
	grace := max(time.Until(deadline)+r.req.Margin/2, leastTime)
	overrun := time.AfterFunc(grace, func() {
		// One that has made up its mind is about to say so.
		if own.fate.CompareAndSwap(undecided, leftOut) {
			r.add(e, Result{}, ErrOverrun)
			r.proceed()
		}
	})
	defer overrun.Stop()
	res, err = e.call(ctx, &own)
	return res, own.fate.Swap(committed) != leftOut, err
}

// call calls the handler, whose panic is its own failure.
func (e entry) call(ctx context.Context, req *Request) (res Result, err error) {
	err = panics.Catch(func() (err error) {
		res, err = e.handle(ctx, req)
		return err
	})
	return res, err
}

// leastTime is what a handler gets however small the budget is: enough for an
// answer that needs no model.
const leastTime = 10 * time.Millisecond

// Margin is kept of a request's time for the way back: 20 ms or a tenth,
// whichever is more (contract §3).
func Margin(timeout time.Duration) time.Duration {
	return max(20*time.Millisecond, timeout/10)
}

// Deadline is when an answer must leave: the smaller of what the caller gives
// (0: it did not say) and what is configured, counted from receipt, less
// [Margin]. It is not before receipt.
func Deadline(received time.Time, caller, configured time.Duration) (deadline time.Time, margin time.Duration) {
	timeout := configured
	if caller > 0 && caller < timeout {
		timeout = caller
	}
	margin = Margin(timeout)
	return received.Add(max(timeout-margin, 0)), margin
}

// Body is the reply body: exactly the object that the hook handler in the
// gateway would have returned, {} for no decision (contract §3).
func (r Result) Body() []byte {
	switch {
	case r.Handled:
		return []byte(`{"handled":true}`)
	case r.PrependContext == "":
		return []byte("{}")
	}
	out := append(make([]byte, 0, len(r.PrependContext)+256), `{"prependContext":`...)
	return append(payload.AppendString(out, r.PrependContext), '}')
}
