package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// OpenBucket opens a bucket. It creates a missing one.
func OpenBucket(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	bucket, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.KeyValue, error) {
		bucket, err := js.KeyValue(ctx, want.Bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			bucket, err = js.CreateKeyValue(ctx, want)
		}
		if errors.Is(err, jetstream.ErrBucketExists) { // another process was faster
			bucket, err = js.KeyValue(ctx, want.Bucket)
		}
		return bucket, err
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", want.Bucket, err)
	}
	return bucket, nil
}
