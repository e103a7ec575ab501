package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// OpenBucket finds a bucket, or makes it when it is missing.
func OpenBucket(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	find := func(ctx context.Context) (jetstream.KeyValue, error) { return js.KeyValue(ctx, want.Bucket) }
	bucket, err := Call(ctx, js.Conn(), find)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.KeyValue, error) { return js.CreateKeyValue(ctx, want) })
		if errors.Is(err, jetstream.ErrBucketExists) {
			bucket, err = Call(ctx, js.Conn(), find) // another process was faster
		}
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", want.Bucket, err)
	}
	return bucket, nil
}
