package knowhub

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/panics"
	"intenthint/payload"
	"intenthint/subjects"
)

// Extracted remembers of which events experiences were extracted, in all
// processes; [bucket.Turns] does.
type Extracted interface {
	Extracted(ctx context.Context, eventID string) (bool, error)
	SetExtracted(ctx context.Context, eventID string) error
}

// Sink extracts experiences from the events of its durable, one after another: it
// has all the time there is, and hints have the models first.
type Sink struct {
	Service   *Service
	Extracted Extracted
	JS        jetstream.JetStream
	// Layout is provisioned again when the durable is gone.
	Layout  bus.Layout
	Durable string
	Log     *slog.Logger
}

const (
	// pullWait is how long a pull waits for an event.
	pullWait = 5 * time.Second
	// sinkPause is the pause after a failure, and before a failed event is tried
	// again the first time; it grows with its attempts.
	sinkPause = 2 * time.Second
	// maxTries is how often a model may fail on an event before it is left: what
	// agents did may be told again, and a queue of it would only grow old.
	maxTries = 5
	// aliveTime is how often the server is told that an event is in progress.
	aliveTime = bus.AckWait / 3
)

// Run extracts until ctx ends. What is in progress then is delivered again, here
// or to another process.
func (k *Sink) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := k.round(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		k.Log.Warn("extraction of experiences interrupted, will retry", "error", err)
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			if _, err := bus.Provision(ctx, k.JS, k.Layout); err != nil {
				k.Log.Debug("durable of extraction not made again", "error", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(sinkPause):
		}
	}
}

// round takes events until something fails.
func (k *Sink) round(ctx context.Context) error {
	durable, err := bus.FindConsumer(ctx, k.JS, k.Layout.Stream, k.Durable)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := k.next(ctx, durable); err != nil {
			return err
		}
	}
	return nil
}

// next takes one event, if one comes within a pull.
func (k *Sink) next(ctx context.Context, durable jetstream.Consumer) error {
	pull, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	batch, err := durable.Fetch(1, jetstream.FetchContext(pull))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		k.take(ctx, m)
	}
	if err := batch.Error(); err != nil && pull.Err() == nil && !errors.Is(err, nats.ErrTimeout) {
		return err
	}
	return nil
}

// take extracts from one event and acknowledges it.
func (k *Sink) take(ctx context.Context, m jetstream.Msg) {
	own, cancel := context.WithTimeout(ctx, extractTime)
	defer cancel()
	alive := time.NewTicker(aliveTime)
	defer alive.Stop()
	done := make(chan error, 1)
	go func() {
		done <- panics.Catch(func() error { return k.Apply(own, subjects.EventID(m.Headers()), m.Data()) })
	}()
	for {
		select {
		case <-alive.C:
			_ = m.InProgress() // else it is delivered again, which is harmless
			continue
		case err := <-done:
			k.finish(ctx, m, err)
		}
		return
	}
}

func (k *Sink) finish(ctx context.Context, m jetstream.Msg, err error) {
	if ctx.Err() != nil {
		_ = m.Nak() // another process may begin at once
		return
	}
	tries := uint64(1)
	if meta, metaErr := m.Metadata(); metaErr == nil {
		tries = meta.NumDelivered
	}
	if err != nil && tries < maxTries {
		k.Log.Warn("experiences not extracted, will retry", "attempt", tries, "error", err)
		_ = m.NakWithDelay(time.Duration(tries) * sinkPause)
		return
	}
	if err != nil {
		k.Log.Warn("experiences not extracted", "attempts", tries, "error", err)
	}
	if err := m.DoubleAck(ctx); err != nil && ctx.Err() == nil {
		k.Log.Debug("extraction not acknowledged", "error", err)
	}
}

// Apply extracts from one event. An event that comes again is extracted once. One
// that cannot be decoded says nothing: the events of all hooks become sessions too,
// and it is a dead letter there.
func (k *Sink) Apply(ctx context.Context, msgID string, data []byte) error {
	env, err := payload.DecodeEvent(data, msgID)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	turn, err := payload.DecodeContext(env.Ctx)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	var event struct {
		Messages   json.RawMessage `json:"messages"`
		SessionKey string          `json:"sessionKey"`
	}
	if err := json.Unmarshal(env.Event, &event); err != nil || !turn.OfPerson() {
		return nil //nolint:nilerr // see above
	}
	known, err := k.Extracted.Extracted(ctx, env.ID)
	if err != nil || known {
		return err
	}
	_, err = k.Service.Extract(ctx, Extraction{Messages: event.Messages, AgentID: turn.Agent(), SessionKey: turn.SessionKey})
	if errors.Is(err, ErrInvalid) || errors.Is(err, errNoModel) {
		return nil // there is nothing to read, or nobody to ask
	}
	if err != nil {
		return err
	}
	return k.Extracted.SetExtracted(ctx, env.ID)
}
