package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// letter is a message that cannot be decoded.
type letter struct {
	msg    jetstream.Msg
	reason error
}

// bury stores dead letters. After a failure, the following ones are returned to
// the stream for a while, so that they take no room from other events.
func (s *Sink[F]) bury(ctx context.Context, letters <-chan letter) {
	var rested time.Time
	for l := range letters {
		if time.Now().Before(rested) {
			s.giveBack(l.msg)
			continue
		}
		// The hook of a message that cannot be decoded is unknown.
		if !s.deadLetter(ctx, l.msg, s.layout.Prefix.EventHook(l.msg.Subject()), l.reason) {
			rested = time.Now().Add(letterRest)
		}
		s.room.Release(weight(l.msg))
	}
}

// giveBack returns a message to the stream and frees its room.
func (s *Sink[F]) giveBack(m jetstream.Msg) {
	s.nak(m, retryPause(delivered(m)))
	s.room.Release(weight(m))
}

// deadLetter stores the message, unchanged, in the dead-letter stream and
// terminates it at the durable. It reports whether that succeeded; if not, the
// message is redelivered.
func (s *Sink[F]) deadLetter(ctx context.Context, m jetstream.Msg, hook string, reason error) bool {
	letter := &nats.Msg{
		Subject: s.layout.Prefix.DeadLetter(hook),
		Data:    m.Data(),
		Header:  nats.Header{},
	}
	letter.Header.Set(subjects.HeaderDLQReason, oneLine(reason.Error()))
	letter.Header.Set(subjects.HeaderDLQSubject, m.Subject())
	if id := eventID(m.Headers()); id != "" {
		letter.Header.Set(subjects.HeaderDLQMsgID, id)
	}
	if trace := m.Headers().Get(subjects.HeaderTraceparent); trace != "" {
		letter.Header.Set(subjects.HeaderTraceparent, trace)
	}
	letter.Header.Set(subjects.HeaderDLQDurable, s.durable)
	if meta, err := m.Metadata(); err == nil {
		// An event is at most one dead letter of a sink, however often it is
		// redelivered.
		letter.Header.Set(subjects.HeaderMsgID, fmt.Sprintf("dlq-%s-%s-%d", s.durable, meta.Stream, meta.Sequence.Stream))
	}
	publish, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := s.js.PublishMsg(publish, letter)
	if errors.Is(err, nats.ErrMaxPayload) {
		// The added headers make it too large. The event stays in the event
		// stream under its sequence.
		s.log.Error("event too large for a dead letter", "subject", m.Subject(), "id", letter.Header.Get(subjects.HeaderMsgID), "reason", reason)
		err = nil
	}
	if err != nil {
		s.log.Error("dead letter not stored", "subject", m.Subject(), "reason", reason, "error", err)
		s.nak(m, retryPause(delivered(m)))
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			if err := s.provision(ctx); err != nil {
				s.log.Warn("dead-letter stream not recreated", "error", err)
			}
		}
		return false
	}
	count(s.metrics.deadLetters, hook)
	s.log.Warn("dead letter", "subject", m.Subject(), "reason", reason)
	if err := m.TermWithReason(oneLine(reason.Error())); err != nil {
		s.log.Warn("event not terminated", "error", err)
	}
	return true
}

// eventID returns the event id from the headers. A replayed dead letter has a
// Nats-Msg-Id of its own; the original one, possibly empty, is in another
// header.
func eventID(h nats.Header) string {
	if first, replayed := h[subjects.HeaderDLQMsgID]; replayed && len(first) > 0 {
		return first[0]
	}
	return h.Get(subjects.HeaderMsgID)
}
