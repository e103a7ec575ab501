package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/retry"
	"intenthint/subjects"
)

// Trail is everything that the event stream and the dead-letter stream hold
// about one session.
type Trail struct {
	JS     jetstream.JetStream
	Layout bus.Layout
	// Session is the session's id, or its key if it has no id.
	Session string
	// Key is the key of a session with an id, "" for none. Events on the subject
	// of the key belong to the session if their payload names it.
	Key string
	// SessionOf decodes an event and returns its session; "" for an event that
	// cannot be decoded or belongs to no session.
	SessionOf func(msgID string, data []byte) string
}

// Count returns the number of the session's events, and the last sequence of the
// stream at that moment.
func (t Trail) Count(ctx context.Context) (n int, last uint64, err error) {
	stream, err := bus.FindStream(ctx, t.JS, t.Layout.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("stream %s: %w", t.Layout.Stream, err)
	}
	info, err := bus.Call(ctx, t.JS.Conn(), func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return stream.Info(ctx, jetstream.WithSubjectFilter(t.Layout.Prefix.EventsOfSession(t.Session)))
	})
	if err != nil {
		return 0, 0, fmt.Errorf("stream %s: %w", t.Layout.Stream, err)
	}
	for _, events := range info.State.Subjects {
		n += int(events) //nolint:gosec // a number of messages
	}
	last = info.State.LastSeq
	under, err := t.underKey(ctx, last)
	return n + len(under), last, err
}

// Erase deletes the session's events up to a sequence and makes the server overwrite
// them in its files.
func (t Trail) Erase(ctx context.Context, last uint64) error {
	stream, err := bus.FindStream(ctx, t.JS, t.Layout.Stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", t.Layout.Stream, err)
	}
	var sequences []uint64
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{t.Layout.Prefix.EventsOfSession(t.Session)}, HeadersOnly: true}
	err = t.read(ctx, config, last, func(_ jetstream.Msg, sequence uint64) { sequences = append(sequences, sequence) })
	if err != nil {
		return err
	}
	under, err := t.underKey(ctx, last)
	if err != nil {
		return err
	}
	for _, sequence := range append(sequences, under...) {
		if err := erase(ctx, t.JS, stream, sequence); err != nil {
			return fmt.Errorf("deleting from stream %s: %w", t.Layout.Stream, err)
		}
	}
	return nil
}

// erase deletes a message and makes the server overwrite it in its files. A message
// that is already deleted is not an error.
func erase(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream, sequence uint64) error {
	_, err := bus.Call(ctx, js.Conn(), func(ctx context.Context) (any, error) { return nil, stream.SecureDeleteMsg(ctx, sequence) })
	if err == nil {
		return nil
	}
	_, gone := bus.Call(ctx, js.Conn(), func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return stream.GetMsg(ctx, sequence) })
	if errors.Is(gone, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}

// underKey returns the sequences of the session's events on the subject of its
// key, up to a last one.
func (t Trail) underKey(ctx context.Context, last uint64) (sequences []uint64, err error) {
	if t.Key == "" || t.Key == t.Session {
		return nil, nil
	}
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{t.Layout.Prefix.EventsOfSession(t.Key)}}
	err = t.read(ctx, config, last, func(m jetstream.Msg, sequence uint64) {
		if t.SessionOf(subjects.EventID(m.Headers()), m.Data()) == t.Session {
			sequences = append(sequences, sequence)
		}
	})
	return sequences, err
}

// read calls take for each event up to a sequence.
func (t Trail) read(ctx context.Context, config jetstream.OrderedConsumerConfig, last uint64, take func(m jetstream.Msg, sequence uint64)) error {
	if last == 0 {
		return nil
	}
	return bus.ReadStream(ctx, t.JS, t.Layout, config, last, func(portion []jetstream.Msg, _ int) error {
		for _, m := range portion {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			take(m, meta.Sequence.Stream)
		}
		return nil
	})
}

// Letters returns the session's dead letters: those found on its subjects, and
// those whose payload names it.
func (t Trail) Letters(ctx context.Context, d *DeadLetters) (sequences []uint64, err error) {
	subject := t.Layout.Prefix.EventsOfSession(t.Session)
	err = d.Each(ctx, Selection{}, func(l DeadLetter) bool {
		if server.SubjectMatchesFilter(l.Subject, subject) || t.SessionOf(l.MsgID, l.Body) == t.Session {
			sequences = append(sequences, l.Sequence)
		}
		return ctx.Err() == nil
	})
	return sequences, errors.Join(err, ctx.Err())
}

// Bounds of [Settled]. An event held by a process that died is redelivered to
// another one after [bus.AckWait]; an event that fails is retried for 7.5 s
// ([maxAttempts], [retryPause]).
const (
	settledTime  = 30 * time.Second
	settledPause = 20 * time.Millisecond
)

// Settled waits until every event up to a sequence is applied. It reports false if
// processes pull events and one is still not applied after some time. Without any
// process nothing more is applied. Call it before the events are deleted: the
// server forgets that a process holds a deleted event.
func Settled(ctx context.Context, js jetstream.JetStream, l bus.Layout, until uint64) (bool, error) {
	pulled := false
	for began := time.Now(); ; {
		durable, err := bus.FindConsumer(ctx, js, l.Stream, l.QueueGroup)
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("durable %s: %w", l.QueueGroup, err)
		}
		info := durable.CachedInfo()
		pulled = pulled || info.NumWaiting > 0
		switch {
		case info.AckFloor.Stream >= until, info.NumAckPending == 0 && info.NumPending == 0:
			return true, nil
		case info.NumAckPending == 0 && info.NumWaiting == 0:
			return true, nil // no process pulls: an idle one has a waiting pull, a busy one holds events
		case time.Since(began) > settledTime:
			return !pulled, nil
		}
		if err := retry.Sleep(ctx, settledPause); err != nil {
			return false, err
		}
	}
}
