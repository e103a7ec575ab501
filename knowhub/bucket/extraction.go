package bucket

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/kv"
)

// extractionKey is the key of [extraction].
const extractionKey = "extraction.on"

// extraction tells whether experiences are extracted from turns, for all processes. It
// is younger than the bucket's age, see [Turns.SwitchOn].
type extraction struct {
	On bool `json:"on"`
	// Since is when it was switched on; in the first revision after that it is zero, and
	// the time of the revision counts, which is that of the server's clock.
	Since time.Time `json:"since,omitzero"`
}

// SwitchOn notes that experiences are extracted, and returns since when, by the clock of
// the server that stores events: since the first call after a [Turns.SwitchOff]. It
// must be called again before the bucket's age has passed.
func (t *Turns) SwitchOn(ctx context.Context) (since time.Time, err error) {
	_, err = kv.Change(ctx, t.bucket, extractionKey, func(known *kv.Value[extraction]) (bool, error) {
		switch {
		case !known.V.On:
			known.V = extraction{On: true}
		case known.V.Since.IsZero():
			known.V.Since = known.Created
		}
		return true, nil
	})
	if err != nil {
		return time.Time{}, err
	}
	now, err := kv.Get[extraction](ctx, t.bucket, extractionKey)
	if since = now.V.Since; since.IsZero() {
		since = now.Created
	}
	return since, err
}

// SwitchOff notes that experiences are no longer extracted.
func (t *Turns) SwitchOff(ctx context.Context) error {
	_, err := kv.Change(ctx, t.bucket, extractionKey, func(known *kv.Value[extraction]) (bool, error) {
		on := known.V.On
		known.V = extraction{}
		return on, nil
	})
	return err
}

// SwitchOffIn is [Turns.SwitchOff] in a bucket that may be missing, and stays so.
func SwitchOffIn(ctx context.Context, js jetstream.JetStream, config jetstream.KeyValueConfig) error {
	_, err := js.KeyValue(ctx, config.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return NewTurns(js, config).SwitchOff(ctx)
}

// Age returns how long the bucket keeps what is not written again; 0 for ever.
func (t *Turns) Age() time.Duration { return t.age }
