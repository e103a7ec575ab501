package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// recentRuns is how far back a process that starts reads: no gateway retries a
// run for longer.
const recentRuns = 15 * time.Minute

// learnedEvents is how many of the newest events a process that starts looks at
// when more turns than a quarter of that began in the last minutes: a turn has
// four events or five, and more runs are not remembered.
const learnedEvents = 4 * 8192

// RecentTurns calls learn with the turn_begun events of the last minutes that
// stand in the stream, oldest first; after a flood of them only with the newest.
func RecentTurns(ctx context.Context, js jetstream.JetStream, l Layout, now time.Time, learn func(data []byte)) error {
	from := now.Add(-recentRuns)
	config := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{l.Prefix.EventsOf(subjects.HookTurnBegun)},
		DeliverPolicy:  jetstream.DeliverByStartTimePolicy,
		OptStartTime:   &from,
	}
	learnAll := func(portion []jetstream.Msg) {
		for _, m := range portion {
			learn(m.Data())
		}
	}
	err := ReadStream(ctx, js, l, config, 0, func(portion []jetstream.Msg, total int) error {
		if total > learnedEvents/4 {
			return errTooMany
		}
		learnAll(portion)
		return nil
	})
	if !errors.Is(err, errTooMany) {
		return err
	}
	stream, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, l.Stream) })
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartSequencePolicy, nil
	config.OptStartSeq = 1
	if last := stream.CachedInfo().State.LastSeq; last > learnedEvents {
		config.OptStartSeq = last - learnedEvents + 1
	}
	return ReadStream(ctx, js, l, config, 0, func(portion []jetstream.Msg, _ int) error {
		learnAll(portion)
		return nil
	})
}

// errTooMany: there are more turns than are worth being read.
var errTooMany = errors.New("too many turns")
