package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// followed is how many events [Follow] prefetches. They are for a person to read,
// and each may have the largest message size.
const followed = 16

// followEnds is how long the server keeps the consumer of a follower that has
// disconnected.
const followEnds = 30 * time.Second

// From is the position at which [Follow] begins.
type From struct {
	// After is the sequence of the last known event, 0 for none.
	After uint64
	// Since is the time of the first event. It is used if After is not in the
	// stream.
	Since time.Time
}

// Follow calls yield with the events of a hook, in order, and waits for new ones
// until ctx ends or yield returns an error, which it returns. While yield blocks,
// the events wait in the stream. After a lost connection it resumes where it
// was.
func Follow(ctx context.Context, js jetstream.JetStream, l Layout, hook string, from From, yield func(m jetstream.Msg, meta *jetstream.MsgMetadata) error) error {
	stream, err := FindStream(ctx, js, l.Stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{l.Prefix.EventsOf(hook)}, InactiveThreshold: followEnds}
	if from.After > 0 && from.After <= stream.CachedInfo().State.LastSeq {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, from.After+1
	} else {
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &from.Since
	}
	ordered, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Consumer, error) { return stream.OrderedConsumer(ctx, config) })
	if err != nil {
		return fmt.Errorf("follow stream %s: %w", l.Stream, err)
	}
	messages, err := ordered.Messages(jetstream.PullMaxMessagesWithBytesLimit(followed, PullBytes(js.Conn())), jetstream.PullHeartbeat(readHeartbeat))
	if err != nil {
		return fmt.Errorf("follow stream %s: %w", l.Stream, err)
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)() // ends a wait
	for {
		m, err := messages.Next(jetstream.NextMaxWait(readTime))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrTimeout):
			continue
		case err != nil:
			return fmt.Errorf("follow stream %s: %w", l.Stream, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("follow stream %s: %w", l.Stream, err)
		}
		if err := yield(m, meta); err != nil {
			return err
		}
	}
}
