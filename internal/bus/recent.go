package bus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// A starting process reads all recent events of the hook if there are at most
	// maxRecent, else those among the last scanWindow events of all hooks. No more
	// runs than maxRecent are remembered.
	maxRecent = 8192
	// scanWindow is how many of the newest events of all hooks are searched at
	// most: a turn has four or five.
	scanWindow = 4 * maxRecent
)

// RecentEvents calls learn with the events of a hook since from, oldest first;
// after a flood, only with the newest ones.
func RecentEvents(ctx context.Context, js jetstream.JetStream, l Layout, from time.Time, hook string, learn func(data []byte)) error {
	config := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{l.Prefix.EventsOf(hook)},
		DeliverPolicy:  jetstream.DeliverByStartTimePolicy,
		OptStartTime:   &from,
	}
	most := maxRecent
	take := func(portion []jetstream.Msg, total int) error {
		if total > most {
			return errTooMany
		}
		for _, m := range portion {
			learn(m.Data())
		}
		return nil
	}
	err := ReadStream(ctx, js, l, config, 0, take)
	if !errors.Is(err, errTooMany) {
		return err
	}
	stream, err := FindStream(ctx, js, l.Stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	last := stream.CachedInfo().State.LastSeq
	config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartSequencePolicy, nil
	config.OptStartSeq = max(last, scanWindow) - scanWindow + 1
	most = math.MaxInt
	return ReadStream(ctx, js, l, config, last, take)
}

// errTooMany reports more recent events than are worth reading.
var errTooMany = errors.New("too many events")
