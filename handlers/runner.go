// Package handlers holds what happens at each hook, one file a hook, and the
// runner that lets several handlers contribute to one (contract §13).
package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"intenthint/internal/workers"
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
	return r.fate == nil || r.fate.CompareAndSwap(undecided, committed)
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
	workers  *workers.Pool
}

// NewRunner returns an empty runner. budgets gives the time that each handler
// of a hook has (HINT_HOOK_TIMEOUTS); 0 means the rest of the request's time.
func NewRunner(budgets func(hook string) time.Duration, log *slog.Logger) *Runner {
	return &Runner{log: log, handlers: map[string][]entry{}, budgets: budgets, workers: workers.New()}
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
// out. The error is non-nil only for a request that a handler refused as
// invalid; it wraps [payload.ErrInvalid].
func (r *Runner) Run(ctx context.Context, req *Request) (Result, error) {
	var (
		merged Result
		texts  []string
	)
	hook := req.Envelope.Hook
	for _, e := range r.handlers[hook] {
		res, err := r.runOne(ctx, hook, e, req)
		if errors.Is(err, payload.ErrInvalid) {
			return Result{Header: res.Header}, err
		}
		if err != nil {
			r.log.Warn("a handler was left out", "hook", hook, "handler", e.name, "error", err)
			res = Result{Header: e.omitted(req, err).Header}
		}
		if merged.Header == nil {
			merged.Header = res.Header
		} else {
			maps.Copy(merged.Header, res.Header)
		}
		if res.PrependContext != "" {
			texts = append(texts, res.PrependContext)
		}
		if res.Handled {
			merged.Handled = true
			if hook == subjects.HookBeforeDispatch {
				break
			}
		}
	}
	merged.PrependContext = strings.Join(texts, "\n\n")
	return merged, nil
}

// runOne gives a handler its time. The handler runs on a goroutine of its own,
// so that one that does not heed its context holds nobody up; its panic is its
// own failure.
func (r *Runner) runOne(ctx context.Context, hook string, e entry, req *Request) (Result, error) {
	deadline := req.Deadline
	if budget := r.budgets(hook); budget > 0 {
		if own := time.Now().Add(budget); own.Before(deadline) {
			deadline = own
		}
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	type outcome struct {
		res Result
		err error
	}
	done := make(chan outcome, 1)
	own := *req
	own.Deadline, own.fate = deadline, new(atomic.Int32)
	r.workers.Go(func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("panic: %v", p)}
			}
			done <- o
		}()
		o.res, o.err = e.handle(ctx, &own)
	})
	// A handler that heeds its deadline may be a little late on a busy machine:
	// it gets half of what is kept for the way back, and a moment in any case.
	grace := time.NewTimer(max(time.Until(deadline)+req.Margin/2, leastTime))
	defer grace.Stop()
	select {
	case o := <-done:
		return o.res, o.err
	case <-grace.C:
	}
	if own.fate.CompareAndSwap(undecided, leftOut) {
		return Result{}, ErrOverrun
	}
	o := <-done // it has made up its mind and is about to say so
	return o.res, o.err
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
