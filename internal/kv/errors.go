package kv

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	// ErrAway reports a bucket that was unreachable a moment ago.
	ErrAway = errors.New("bucket away")
	// ErrConflict reports a key that has another revision than expected. So do errors
	// of the server: see [IsConflict].
	ErrConflict = errors.New("key written by another process")
)

// IsConflict reports whether a key was not changed because it has another revision
// than expected.
func IsConflict(err error) bool {
	if errors.Is(err, ErrConflict) || errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return true
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// isGone reports whether the bucket's stream no longer exists or does not
// answer.
func isGone(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound)
}

// IsAway reports whether an error comes from the servers or the connection, so that
// the same call may succeed later.
func IsAway(err error) bool {
	if isGone(err) {
		return true
	}
	for _, passing := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Code >= 500
}
