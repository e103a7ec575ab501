package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/tracing"
	"intenthint/subjects"
)

// bury stores messages that cannot be decoded as dead letters, until one fails
// or letterTime is over. The remaining messages return to the stream, so that
// they take no room from other events.
func (s *Sink[F]) bury(ctx context.Context, items []*item[F]) {
	began, failed := time.Now(), false
	for _, i := range items {
		if failed || time.Since(began) > letterTime {
			s.nak(i.msg, retryPause(delivered(i.msg)))
			tracing.End(i.span, "store")
			continue
		}
		// The hook of a message that cannot be decoded is unknown.
		failed = !s.deadLetter(ctx, i.msg, s.o.Layout.Prefix.EventHook(i.msg.Subject()), i.reason)
		tracing.End(i.span, "invalid")
	}
}

// deadLetter stores the message, unchanged, in the dead-letter stream and
// terminates it at the durable. It reports whether that succeeded; if not, the
// message is redelivered. A message too large for a dead letter is terminated
// without one.
func (s *Sink[F]) deadLetter(ctx context.Context, m jetstream.Msg, hook string, reason error) bool {
	id := ""
	if meta, err := m.Metadata(); err == nil {
		// A sink stores at most one dead letter per event.
		id = fmt.Sprintf("dlq-%s-%s-%d", s.o.Durable, meta.Stream, meta.Sequence.Stream)
	}
	letter := nats.NewMsg(s.o.Layout.Prefix.DeadLetter(hook))
	letter.Data = m.Data()
	for name, value := range map[string]string{
		subjects.HeaderDLQReason:   oneLine(reason.Error()),
		subjects.HeaderDLQSubject:  m.Subject(),
		subjects.HeaderDLQMsgID:    subjects.EventID(m.Headers()),
		subjects.HeaderDLQDurable:  s.o.Durable,
		subjects.HeaderTraceparent: m.Headers().Get(subjects.HeaderTraceparent),
		subjects.HeaderMsgID:       id,
	} {
		if value != "" {
			letter.Header.Set(name, value)
		}
	}
	publish, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := s.o.JS.PublishMsg(publish, letter)
	if tooLarge(err) {
		for _, name := range spare {
			letter.Header.Del(name)
		}
		_, err = s.o.JS.PublishMsg(publish, letter)
	}
	lost := tooLarge(err)
	if err != nil && !lost {
		s.lines.Error(s.o.Log, "dead letter not stored", "subject", m.Subject(), "reason", reason, "error", err)
		s.nak(m, retryPause(delivered(m)))
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			if err := s.provision(ctx); err != nil {
				s.o.Log.Warn("dead-letter stream not recreated", "error", err)
			}
		}
		return false
	}
	if lost {
		count(s.o.Metrics.tooLarge, s.o.Name, hook)
		s.lines.Error(s.o.Log, "event dropped, too large for a dead letter", "subject", m.Subject(), "id", subjects.EventID(m.Headers()), "reason", reason)
	} else {
		count(s.o.Metrics.deadLetters, s.o.Name, hook)
		s.lines.Warn(s.o.Log, "dead letter", "subject", m.Subject(), "reason", reason)
	}
	if err := m.TermWithReason(oneLine(reason.Error())); err != nil {
		s.lines.Warn(s.o.Log, "event not terminated", "error", err)
	}
	return true
}

// spare are the headers that replaying a dead letter does not need. They are
// left out if they make it too large.
var spare = []string{subjects.HeaderDLQReason, subjects.HeaderDLQDurable, subjects.HeaderTraceparent, subjects.HeaderMsgID}

// tooLarge reports whether the server or the stream refused a message because
// of its size.
func tooLarge(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum)
}
