package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/subjects"
)

// DeadLetter is an event that could not be decoded or applied.
type DeadLetter struct {
	Sequence uint64    `json:"sequence"`
	Time     time.Time `json:"time"`
	Hook     string    `json:"hook"`
	// Reason says why; Subject is where the event was found.
	Reason  string `json:"reason"`
	Subject string `json:"subject"`
	Body    []byte `json:"-"`
}

// DeadLetters calls yield for every dead letter, oldest first, until it
// returns false. A missing stream holds none.
func DeadLetters(ctx context.Context, js jetstream.JetStream, l Layout, yield func(DeadLetter) bool) error {
	stream, err := js.Stream(ctx, l.DeadLetterStream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.DeadLetterStream(), err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", l.DeadLetterStream(), err)
	}
	if info.State.Msgs == 0 {
		return nil
	}
	ordered, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("read %s: %w", l.DeadLetterStream(), err)
	}
	for {
		m, err := ordered.Next(jetstream.FetchMaxWait(2 * time.Second))
		if err != nil {
			return fmt.Errorf("read %s: %w", l.DeadLetterStream(), err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		hook, _ := subjects.DecodeToken(strings.TrimPrefix(m.Subject(), string(l.Prefix)+".dlq."))
		letter := DeadLetter{
			Sequence: meta.Sequence.Stream,
			Time:     meta.Timestamp,
			Hook:     hook,
			Reason:   m.Headers().Get(subjects.HeaderDLQReason),
			Subject:  m.Headers().Get(subjects.HeaderDLQSubject),
			Body:     m.Data(),
		}
		if !yield(letter) || meta.NumPending == 0 {
			return nil
		}
	}
}

// oneLine makes text fit for a header value.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
