package bus

import (
	"cmp"
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
	// ErrDenied reports that the user has no permission for a call of the
	// JetStream API. The error text includes the server's, with the subject.
	ErrDenied = errors.New("NATS permission denied")
	// errNoReplies is an [ErrDenied] that affects every call: the user may not
	// subscribe to the reply subjects.
	errNoReplies = fmt.Errorf("%w: receiving replies", ErrDenied)
)

// callTime bounds one call of the JetStream API.
const callTime = 5 * time.Second

// Call makes a few quick calls of the JetStream API. The server does not answer
// a call without permission: it reports it on the connection only, and the call
// would run into its timeout. Call returns [ErrDenied] at once instead.
func Call[T any](ctx context.Context, nc *nats.Conn, do func(context.Context) (T, error)) (T, error) {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before := nc.LastError()
	// The connection subscribes to its replies once, and the error comes once.
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
			if err == before { //nolint:errorlint // the same value, not an error of that kind
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

// FindStream looks up a stream within the bounds of [Call].
func FindStream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	return Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, name) })
}

// FindConsumer looks up a durable of a stream within the bounds of [Call].
func FindConsumer(ctx context.Context, js jetstream.JetStream, stream, durable string) (jetstream.Consumer, error) {
	return Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Consumer, error) { return js.Consumer(ctx, stream, durable) })
}

// denial returns the reason if an error of the connection means that a call of
// the JetStream API gets no answer, else nil.
func denial(nc *nats.Conn, err error) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	switch text := err.Error(); {
	case deniesDelivery(text): // of a sink on the same connection; no call
		return nil
	case strings.Contains(text, `Publish to "$JS.`):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	case strings.Contains(text, `Subscription to "`+cmp.Or(nc.Opts.InboxPrefix, nats.InboxPrefix)):
		return fmt.Errorf("%w (check HINT_NATS_INBOX_PREFIX): %w", errNoReplies, err)
	default:
		return nil
	}
}

// deliveryDenial is the last refusal of a pull or an acknowledgement.
type deliveryDenial struct {
	err error
	at  time.Time
}

// noteDenial remembers an error of the connection if it means that events are not
// delivered or not acknowledged. The server answers neither.
func (b *Bus) noteDenial(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	if deniesDelivery(err.Error()) {
		b.denied.Store(&deliveryDenial{err, time.Now()})
	}
}

// deniesDelivery reports whether the text of an error refuses a pull or an
// acknowledgement.
func deniesDelivery(text string) bool {
	return strings.Contains(text, `Publish to "$JS.API.CONSUMER.MSG.NEXT.`) || strings.Contains(text, `Publish to "$JS.ACK.`)
}

// CheckDelivery returns an error that wraps [ErrDenied] if the server has
// recently refused a pull or an acknowledgement: both are retried within
// [AckWait]. It is a health check.
func (b *Bus) CheckDelivery(context.Context) error {
	if d := b.denied.Load(); d != nil && time.Since(d.at) < 2*AckWait {
		return fmt.Errorf("%w: %w", ErrDenied, d.err)
	}
	return nil
}

// Subscribed waits until the server has processed the subscriptions made so far.
// The error wraps [ErrDenied] if the user has no permission for one of them, and
// is [Temporary] if the connection was lost: the client subscribes again.
func (b *Bus) Subscribed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := b.NC.FlushWithContext(ctx)
	if errors.Is(err, nats.ErrConnectionClosed) && !b.NC.IsClosed() {
		err = nats.ErrDisconnected // the client reports every lost connection as this error
	}
	if err != nil {
		return err
	}
	if err := b.NC.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), "Subscription to") {
		return fmt.Errorf("%w: subscribing: %w", ErrDenied, err)
	}
	return nil
}
