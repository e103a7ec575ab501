package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors of calls that the server refuses to pass on.
var (
	// ErrDenied reports that the connection's user may not make a call of the
	// JetStream API; its text holds the server's words, with the subject.
	ErrDenied = errors.New("the NATS user is not allowed to")
	// errNoReplies is an [ErrDenied] that concerns every call: the user may
	// not subscribe to where replies go.
	errNoReplies = fmt.Errorf("%w receive replies", ErrDenied)
)

// callTime bounds one call of the JetStream API.
const callTime = 5 * time.Second

// Call makes a few quick calls of the JetStream API. What a user may not ask the
// server does not answer: it tells the connection, and the call would wait for
// its whole time. Here it ends with [ErrDenied] at once.
func Call[T any](ctx context.Context, nc *nats.Conn, do func(context.Context) (T, error)) (T, error) {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before := nc.LastError()
	// The connection subscribes to its replies once, and is told once.
	if err := denial(nc, before); errors.Is(err, errNoReplies) {
		return *new(T), err
	}
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := nc.LastError()
			if err == before { //nolint:errorlint // the same one, not one of its kind
				continue
			}
			if err = denial(nc, err); err != nil {
				cancel(err)
				return
			}
		}
	}()
	out, err := do(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrDenied) {
		err = cause
	}
	return out, err
}

// FindStream looks a stream up within the bounds of [Call].
func FindStream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	return Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, name) })
}

// FindConsumer looks a durable of a stream up within the bounds of [Call].
func FindConsumer(ctx context.Context, js jetstream.JetStream, stream, durable string) (jetstream.Consumer, error) {
	return Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Consumer, error) { return js.Consumer(ctx, stream, durable) })
}

// denial returns why an error of the connection leaves a call of the JetStream
// API without an answer, or nil when it does not.
func denial(nc *nats.Conn, err error) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	inbox := nc.Opts.InboxPrefix
	if inbox == "" {
		inbox = nats.InboxPrefix
	}
	switch text := err.Error(); {
	case strings.Contains(text, `Publish to "$JS.`):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	case strings.Contains(text, `Subscription to "`+inbox):
		return fmt.Errorf("%w (HINT_NATS_INBOX_PREFIX must be where it may): %w", errNoReplies, err)
	default:
		return nil
	}
}

// Subscribed makes sure that the server took the subscriptions made so far; an
// error wraps [ErrDenied] when the user has no right to one.
func (b *Bus) Subscribed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return subscribed(ctx, b.NC)
}

// subscribed makes sure that the server took the subscriptions of nc: it says
// only beside it that a user has no right to one.
func subscribed(ctx context.Context, nc *nats.Conn) error {
	if err := nc.FlushWithContext(ctx); err != nil {
		return err
	}
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), "Subscription to") {
		return fmt.Errorf("%w subscribe: %w", ErrDenied, err)
	}
	return nil
}
