package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of a portion. The events of one session in a portion cost one write.
const (
	portionEvents = 4096
	portionBytes  = 16 << 20
)

const (
	// readTime is how long a read waits for a message before it asks how many are
	// left.
	readTime = 5 * time.Second
	// readHeartbeat is how often the server confirms that the pull is still open.
	// The client pulls again when two heartbeats are missing, but checks only
	// within one wait, so two intervals must be shorter than readTime.
	readHeartbeat = 2 * time.Second
)

// errNoLeader reports that a stream or durable has no leader at the moment.
var errNoLeader = errors.New("no leader at present")

// RequireLeader returns [errNoLeader] if a stream or durable has no leader. Any server
// with a copy then reports its own state, and one that has just started may report an
// empty stream.
func RequireLeader(cluster *jetstream.ClusterInfo) error {
	if cluster != nil && cluster.Leader == "" {
		return errNoLeader
	}
	return nil
}

// ErrIncomplete reports a read of fewer events than the stream has: a server that has
// just restarted does not have the latest events yet. A later read will get
// them.
var ErrIncomplete = errors.New("the server that answered lacks events of the stream")

// ReadStream calls take with the events of the stream in portions, in order, up
// to the sequence last, which the stream must have reached; 0 means its current
// last sequence. total is the approximate number of all events. The error is
// [ErrIncomplete] if a read from the first event on did not get all events that
// the leader has; a read from a later event on is not checked.
func ReadStream(
	ctx context.Context, js jetstream.JetStream, l Layout, config jetstream.OrderedConsumerConfig, last uint64,
	take func(portion []jetstream.Msg, total int) error,
) error {
	stream, err := FindStream(ctx, js, l.Stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	if err := RequireLeader(stream.CachedInfo().Cluster); err != nil {
		return fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	state := stream.CachedInfo().State
	if last > state.LastSeq {
		return fmt.Errorf("read stream %s: %w: up to %d, not %d", l.Stream, ErrIncomplete, state.LastSeq, last)
	}
	if last == 0 {
		last = state.LastSeq
	}
	if state.Msgs == 0 || last < state.FirstSeq || config.OptStartSeq > last {
		return nil
	}
	// The reader runs on any server that has the stream, and reads that server's
	// copy.
	held, err := heldByLeader(ctx, js, stream, config)
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.Stream, err)
	}
	var read uint64
	complete := func() error {
		if read < held {
			return fmt.Errorf("read stream %s: %w: %d of %d", l.Stream, ErrIncomplete, read, held)
		}
		return nil
	}
	ordered, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Consumer, error) { return stream.OrderedConsumer(ctx, config) })
	if err != nil {
		return fmt.Errorf("read stream %s: %w", l.Stream, err)
	}
	waiting := func() (uint64, error) {
		info, err := Call(ctx, js.Conn(), ordered.Info)
		if err != nil {
			return 0, fmt.Errorf("read stream %s: %w", l.Stream, err)
		}
		return info.NumPending, nil
	}
	total, err := waiting()
	if err != nil {
		return err
	}
	if total == 0 {
		return complete()
	}
	messages, err := ordered.Messages(jetstream.PullMaxMessagesWithBytesLimit(PullMessages, PullBytes(js.Conn())), jetstream.PullHeartbeat(readHeartbeat))
	if err != nil {
		return fmt.Errorf("read stream %s: %w", l.Stream, err)
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)() // ends a wait
	var (
		portion []jetstream.Msg
		bytes   int
	)
	flush := func() error {
		if len(portion) == 0 {
			return nil
		}
		err := take(portion, int(total))
		portion, bytes = portion[:0], 0
		return err
	}
	for {
		m, err := messages.Next(jetstream.NextMaxWait(readTime))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, nats.ErrTimeout) {
			// The rest may have been deleted meanwhile, by age or an operator.
			left, err := waiting()
			if err != nil {
				return errors.Join(err, flush())
			}
			if left == 0 {
				return errors.Join(flush(), complete())
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read stream %s: %w", l.Stream, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read stream %s: %w", l.Stream, err)
		}
		if meta.Sequence.Stream > last {
			return flush()
		}
		portion = append(portion, m)
		bytes += len(m.Data())
		read++
		ends := meta.Sequence.Stream == last || meta.NumPending == 0
		if !ends && len(portion) < portionEvents && bytes < portionBytes {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if meta.Sequence.Stream == last {
			return nil
		}
		if ends {
			return complete()
		}
	}
}

// heldByLeader returns how many events the leader has for a read from the first
// event on, and 0 for any other read.
func heldByLeader(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream, config jetstream.OrderedConsumerConfig) (n uint64, err error) {
	if config.DeliverPolicy != jetstream.DeliverAllPolicy {
		return 0, nil
	}
	if len(config.FilterSubjects) == 0 {
		return stream.CachedInfo().State.Msgs, nil
	}
	for _, subject := range config.FilterSubjects {
		info, err := Call(ctx, js.Conn(), func(ctx context.Context) (*jetstream.StreamInfo, error) {
			return stream.Info(ctx, jetstream.WithSubjectFilter(subject))
		})
		if err != nil {
			return 0, err
		}
		for _, events := range info.State.Subjects {
			n += events
		}
	}
	return n, nil
}
