package kv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/retry"
)

// Open opens a bucket. It creates a missing one.
func Open(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	bucket, err := bus.Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.KeyValue, error) {
		return FindOrCreate(ctx,
			func(ctx context.Context) (jetstream.KeyValue, error) { return js.KeyValue(ctx, want.Bucket) },
			func(ctx context.Context) (jetstream.KeyValue, error) { return js.CreateKeyValue(ctx, want) })
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", want.Bucket, err)
	}
	return bucket, nil
}

// FindOrCreate returns what find returns for a bucket, or its stream. If that is
// missing, create creates it.
func FindOrCreate[T any](ctx context.Context, find, create func(context.Context) (T, error)) (found T, err error) {
	err = CreateRetry.Do(ctx, func(ctx context.Context) error {
		found, err = find(ctx)
		if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			found, err = create(ctx)
		}
		return err
	})
	return found, err
}

// CreateRetry is for about a second: another process created the stream first, and
// not every server of the cluster has it, or its new consumer, yet; or the files of
// a deleted stream still exist. The fault may also be permanent.
var CreateRetry = retry.Policy{
	Backoff:  retry.Backoff{First: 10 * time.Millisecond, Max: 40 * time.Millisecond},
	Attempts: 36,
	Temporary: func(err error) bool {
		return errors.Is(err, jetstream.ErrBucketExists) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || isStoreFailed(err)
	},
}

// isStoreFailed reports whether a server could not make the files of a stream.
func isStoreFailed(err error) bool {
	const storeFailed jetstream.ErrorCode = 10049 // the server's; the client library has no name for it
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == storeFailed
}
