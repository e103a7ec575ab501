package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/batch"
	"intenthint/subjects"
)

// Bucket is a key-value bucket that is needed in addition to the layout.
type Bucket struct {
	Config jetstream.KeyValueConfig
	// Kept means that people keep what it holds, also without the event stream.
	Kept bool
	// Followed means that every process reads all keys, and hears of changes.
	Followed bool
	// Create creates the bucket; nil uses the default.
	Create func(ctx context.Context, js jetstream.JetStream, config jetstream.KeyValueConfig) (jetstream.Stream, error)
}

// BucketStream returns the name of the stream behind a bucket.
func BucketStream(bucket string) string { return "KV_" + bucket }

func (b Bucket) resource() resource {
	return streamResource{
		kind: KindBucket, name: b.Config.Bucket, settings: storeSettings,
		want: jetstream.StreamConfig{
			Name: BucketStream(b.Config.Bucket), Storage: b.Config.Storage, Replicas: b.Config.Replicas,
			MaxAge: b.Config.TTL, MaxBytes: b.Config.MaxBytes,
		},
		make: func(ctx context.Context, js jetstream.JetStream) (err error) {
			if b.Create != nil {
				_, err = b.Create(ctx, js, b.Config)
			} else {
				_, err = js.CreateKeyValue(ctx, b.Config)
			}
			return err
		},
	}
}

// streamResource is a stream, or a bucket by its stream.
type streamResource struct {
	kind, name string
	want       jetstream.StreamConfig
	settings   []setting
	prefix     subjects.Prefix
	make       func(ctx context.Context, js jetstream.JetStream) error
}

func (l Layout) resource(want jetstream.StreamConfig) streamResource {
	return streamResource{
		kind: KindStream, name: want.Name, want: want, settings: streamSettings, prefix: l.Prefix,
		make: func(ctx context.Context, js jetstream.JetStream) (err error) {
			if want.AllowAtomicPublish {
				_, err = batch.CreateStream(ctx, js, want)
			} else {
				_, err = js.CreateStream(ctx, want)
			}
			api, ok := errors.AsType[*jetstream.APIError](err)
			switch {
			case !ok:
			case want.MaxBytes > 0 && (api.ErrorCode == codeNoStorage || api.ErrorCode == codeAccountLimit):
				return fmt.Errorf("%w: it reserves %d bytes; HINT_STREAM_MAX_BYTES lowers that", err, want.MaxBytes)
			case api.ErrorCode == codeNoCluster:
				return fmt.Errorf("%w: HINT_STREAM_REPLICAS=%d needs a cluster of as many servers", err, want.Replicas)
			case api.ErrorCode == codeOverlap:
				other, _ := js.StreamNameBySubject(ctx, want.Subjects[0]) // "" if the user may not list streams
				return fmt.Errorf("%w: stream %q; use it with HINT_STREAM, or other subjects with HINT_SUBJECT_PREFIX", err, other)
			}
			return err
		},
	}
}

// Error codes of a server and of an account with less free storage than a
// stream reserves, of a server in no cluster that is to keep replicas, and of
// subjects that another stream has.
const (
	codeNoStorage    = 10047
	codeAccountLimit = 10002
	codeNoCluster    = 10074
	codeOverlap      = 10065
)

func (r streamResource) look(ctx context.Context, js jetstream.JetStream) (Target, error) {
	t := Target{Kind: r.kind, Name: r.name, Differences: []Difference{}, resource: r}
	s, err := FindStream(ctx, js, r.want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Missing = true
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("%s %s: %w", r.kind, r.name, err)
	}
	info := s.CachedInfo()
	if r.want.AllowAtomicPublish && !info.Config.AllowAtomicPublish {
		r.want.AllowAtomicPublish = atomicPublish(ctx, js)
	}
	t.Differences = append(t.Differences, r.differences(info.Config, info.State, time.Now())...)
	t.change = func(ctx context.Context, d []Difference) error {
		_, err := js.UpdateStream(ctx, r.changed(info.Config, d))
		return err
	}
	return t, nil
}

// atomicPublishLevel is the level of the JetStream API, of server 2.12, from
// which streams take atomic batches.
const atomicPublishLevel = 2

// atomicPublish reports whether the server supports atomic batches. It assumes so
// if the user has no permission to ask.
func atomicPublish(ctx context.Context, js jetstream.JetStream) bool {
	info, err := Call(ctx, js.Conn(), js.AccountInfo)
	return err != nil || info.API.Level >= atomicPublishLevel
}

func (r streamResource) create(ctx context.Context, js jetstream.JetStream) error {
	_, err := Call(ctx, js.Conn(), func(ctx context.Context) (any, error) { return nil, r.make(ctx, js) })
	if err == nil {
		return nil
	}
	what := r.kind + " " + r.name
	if len(r.want.Subjects) > 0 {
		what += " for " + strings.Join(r.want.Subjects, ", ")
	}
	return fmt.Errorf("create %s: %w", what, err)
}

// durableResource is a durable of the event stream.
type durableResource struct {
	stream string
	want   jetstream.ConsumerConfig
	prefix subjects.Prefix
}

func (r durableResource) look(ctx context.Context, js jetstream.JetStream) (Target, error) {
	t := Target{Kind: KindDurable, Name: r.want.Durable, Differences: []Difference{}, resource: r}
	c, err := FindConsumer(ctx, js, r.stream, r.want.Durable)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		t.Missing = true
	case errors.Is(err, jetstream.ErrNotPullConsumer):
		t.Differences = append(t.Differences, Difference{
			Field: "deliver_subject", From: "set (a push consumer)", To: "none (a pull consumer)", Recreate: true, unusable: true,
			Effect: "events cannot be pulled from it",
		})
	case err != nil:
		return t, fmt.Errorf("durable %s of stream %s: %w", r.want.Durable, r.stream, err)
	default:
		have := c.CachedInfo().Config
		t.Differences = append(t.Differences, r.differences(have, PullBytes(js.Conn()), time.Now())...)
		t.change = func(ctx context.Context, d []Difference) error {
			config := r.changed(have, d)
			if config.PauseUntil != have.PauseUntil { // an update does not change it
				if _, err := js.ResumeConsumer(ctx, r.stream, r.want.Durable); err != nil {
					return err
				}
			}
			_, err := js.UpdateConsumer(ctx, r.stream, config)
			return err
		}
	}
	return t, nil
}

func (r durableResource) create(ctx context.Context, js jetstream.JetStream) error {
	_, err := Call(ctx, js.Conn(), func(ctx context.Context) (any, error) { return js.CreateConsumer(ctx, r.stream, r.want) })
	if err != nil {
		return fmt.Errorf("create durable %s of stream %s: %w", r.want.Durable, r.stream, err)
	}
	return nil
}
