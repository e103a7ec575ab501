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

// bury keeps dead letters. After one that could not be kept those that follow
// are given back for a while, instead of filling the room of other events.
func (s *Sink[F]) bury(ctx context.Context, letters <-chan letter) {
	var rested time.Time
	for l := range letters {
		if time.Now().Before(rested) {
			s.giveBack(l.msg)
			continue
		}
		// What cannot be decoded cannot say its hook either.
		if !s.deadLetter(ctx, l.msg, s.layout.Prefix.EventHook(l.msg.Subject()), l.reason) {
			rested = time.Now().Add(letterRest)
		}
		s.room.Release(weight(l.msg))
	}
}

// giveBack returns a message that holds room to the stream.
func (s *Sink[F]) giveBack(m jetstream.Msg) {
	s.nak(m, retryPause(delivered(m)))
	s.room.Release(weight(m))
}

// deadLetter keeps the message, unchanged, in the dead-letter stream and takes
// it out of the durable. It reports whether that was done; if not, the message
// comes again.
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
		// The same event is one dead letter of a sink, however often it is
		// delivered to it.
		letter.Header.Set(subjects.HeaderMsgID, fmt.Sprintf("dlq-%s-%s-%d", s.durable, meta.Stream, meta.Sequence.Stream))
	}
	publish, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := s.js.PublishMsg(publish, letter)
	if errors.Is(err, nats.ErrMaxPayload) {
		// The letter's headers are what is too much. The event stays in the
		// event stream, where the sequence finds it.
		s.log.Error("an event is too large for a dead letter", "subject", m.Subject(), "id", letter.Header.Get(subjects.HeaderMsgID), "reason", reason)
		err = nil
	}
	if err != nil {
		s.log.Error("a dead letter could not be kept, it will be tried again", "subject", m.Subject(), "reason", reason, "error", err)
		s.nak(m, retryPause(delivered(m)))
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			if err := s.provision(ctx); err != nil {
				s.log.Warn("the stream of dead letters cannot be made again", "error", err)
			}
		}
		return false
	}
	count(s.metrics.deadLetters, hook)
	s.log.Warn("dead letter", "subject", m.Subject(), "reason", reason)
	if err := m.TermWithReason(oneLine(reason.Error())); err != nil {
		s.log.Warn("terminating an event", "error", err)
	}
	return true
}

// eventID is the id that an event's headers give it. A dead letter that is
// replayed has a Nats-Msg-Id of its own and keeps that of its first publication,
// or the lack of one, beside it.
func eventID(h nats.Header) string {
	if first, replayed := h[subjects.HeaderDLQMsgID]; replayed && len(first) > 0 {
		return first[0]
	}
	return h.Get(subjects.HeaderMsgID)
}
