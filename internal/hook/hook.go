// Package hook answers the decision hooks of gateways: it decodes a request,
// gives each handler of the hook its time, joins what they decide, and encodes
// the reply (contract §3, §13).
//
// A part of the program that decides something at a hook provides a [Handler];
// a [Hook] lists the handlers of one hook; a [Runner] turns it into an endpoint
// that package bus serves.
package hook

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"intenthint/internal/bus"
	"intenthint/payload"
)

// Errors passed to [Hook.Unasked] and [Handler.Omitted].
var (
	// ErrOverrun reports a handler that did not return within its time budget.
	ErrOverrun = errors.New("handler exceeded its time budget")
	// ErrOverloaded reports that there is no room or no time to begin a request.
	ErrOverloaded = errors.New("overloaded")
	// ErrOtherHook reports a body that names another hook than the subject.
	ErrOtherHook = errors.New("message of another hook")
)

// Hook is a decision hook that is answered here.
type Hook struct {
	// Name is the hook's name at the gateway, such as before_prompt_build.
	Name string
	// Handlers contribute in descending priority; with equal priority, in this
	// order.
	Handlers []Handler
	// Bound limits the requests in progress. The zero value is [bus.DefaultBound].
	Bound bus.Bound
	// Unasked is told of a request for which no handler is asked, and returns the
	// diagnostics of its reply: cause is [ErrOverloaded], [ErrOtherHook] or wraps
	// [payload.ErrInvalid]. It must not block. A nil Unasked means no diagnostics.
	Unasked func(cause error, took time.Duration) map[string][]string
}

// Handler contributes to the decisions of one hook.
type Handler struct {
	// Name is the handler's name in logs.
	Name     string
	Priority int
	// Handle decides. An error that wraps [payload.ErrInvalid] refuses the
	// request; after any other error the handler is left out. It must return
	// soon after ctx is done.
	Handle func(ctx context.Context, req *Request) (Result, error)
	// Omitted returns the result to use for a handler that was left out because it
	// overran ([ErrOverrun]) or failed. A nil Omitted means no result.
	Omitted func(req *Request, cause error) Result
}

// Request is one decision that a gateway asks for.
type Request struct {
	Envelope payload.Envelope
	Context  payload.Context
	// Received is when the request arrived here; budgets count from it.
	Received time.Time
	// Deadline is when the answer must leave, Margin the time reserved after it
	// for the way back.
	Deadline    time.Time
	Margin      time.Duration
	Traceparent string
	// Version is that of the gateway's plugin, "" if unknown.
	Version string
	// Caller identifies the connection that the request comes from.
	Caller string

	fate *atomic.Int32
}

// States of a handler's answer.
const (
	undecided int32 = iota
	committed       // the handler's answer will be used
	leftOut         // the handler overran
)

// Commit reports whether the handler's answer will be used. From then on the
// runner waits for it. False means that the handler was left out already.
func (r *Request) Commit() bool {
	return r.fate == nil || r.fate.CompareAndSwap(undecided, committed) || r.fate.Load() == committed
}

// Result is what a handler contributes.
type Result struct {
	// Decision is its part of the reply body; nil for none.
	Decision Decision
	// Header holds diagnostics for the reply.
	Header map[string][]string
}

// Decision is a reply body of one hook, or a part of it. The handlers of one
// hook return decisions of one type. Its JSON is exactly the object that the hook
// handler in the gateway would have returned (contract §3).
type Decision interface {
	// Join returns this decision and a later handler's as one.
	Join(later Decision) Decision
	// Final reports whether the decision ends the round: later handlers are not
	// asked.
	Final() bool
}

// PrependContext is text for the front of the agent's prompt
// (before_prompt_build).
type PrependContext struct {
	Text string `json:"prependContext"`
}

// Join implements [Decision]: texts are joined by a blank line.
func (p PrependContext) Join(later Decision) Decision {
	if l, ok := later.(PrependContext); ok {
		p.Text += "\n\n" + l.Text
	}
	return p
}

// Final implements [Decision].
func (PrependContext) Final() bool { return false }

// Handled ends the dispatch of a message (before_dispatch).
type Handled struct{}

// Join implements [Decision].
func (h Handled) Join(Decision) Decision { return h }

// Final implements [Decision].
func (Handled) Final() bool { return true }

// MarshalJSON implements [json.Marshaler].
func (Handled) MarshalJSON() ([]byte, error) { return []byte(`{"handled":true}`), nil }
