package decide

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/part"
	"intenthint/subjects"
)

// Fact is an event that a student learns from: a teacher's answer, or a mark.
type Fact struct {
	Decided *Decided
	Mark    *Mark
}

// durable is the durable of the events that students learn from.
func durable(l bus.Layout) bus.Durable {
	return bus.Durable{
		Name:        l.QueueGroup + "-decide",
		Hooks:       []string{subjects.HookDecided, subjects.HookFeedback},
		Description: "Decisions and marks on them, from which students of intenthint learn",
	}
}

// decodeFact decodes an event. The session, by which events are grouped, is the rubric;
// "" for an event to ignore. Feedback that cannot be decoded is ignored: the sink of the
// sessions makes it a dead letter.
func decodeFact(named, msgID string, data []byte) (events.Event[Fact], error) {
	ev := events.Event[Fact]{Hook: named}
	switch named {
	case subjects.HookDecided:
		d, err := DecodeDecided(msgID, data)
		if err != nil {
			return ev, err
		}
		if d.Source == Model && d.Record == RecordText && d.Text != "" {
			ev.Session, ev.Fact = d.Rubric, Fact{Decided: &d}
		}
	case subjects.HookFeedback:
		m, ok, err := decodeMark(msgID, data)
		if err == nil && ok {
			ev.Session, _ = RubricOf(m.ID)
			ev.Fact = Fact{Mark: &m}
		}
	}
	return ev, nil
}

// sink stores facts. It is idempotent and independent of their order.
type sink struct {
	store *Store
	// find returns a decision of the stream, nil for an unknown one.
	find func(ctx context.Context, rubric, id string) (*Decided, error)
}

func (s *sink) apply(ctx context.Context, facts []Fact) error {
	for _, f := range facts {
		if f.Decided != nil {
			if err := s.store.Learn(ctx, f.Decided); err != nil {
				return err
			}
			continue
		}
		rubric, _ := RubricOf(f.Mark.ID)
		d, err := s.find(ctx, rubric, f.Mark.ID)
		if err != nil {
			return err
		}
		if d == nil || d.Record != RecordText {
			continue // nothing to learn from
		}
		if _, ok := d.Probabilities[f.Mark.Label]; !ok {
			continue // no label of the question
		}
		if err := s.store.Mark(ctx, d, f.Mark); err != nil {
			return err
		}
	}
	return nil
}

// finder finds decisions in the stream. People mark few, so it reads all of a rubric.
func finder(js jetstream.JetStream, l bus.Layout) func(ctx context.Context, rubric, id string) (*Decided, error) {
	return func(ctx context.Context, rubric, id string) (found *Decided, err error) {
		err = readHook(ctx, js, l, subjects.HookDecided, span{rubric: rubric}, func(msgID string, data []byte) {
			if d, err := DecodeDecided(msgID, data); err == nil && d.ID == id {
				found = &d
			}
		})
		return found, err
	}
}

// take begins to take events.
func take(l bus.Layout, s *sink) part.Sink {
	return part.Take(events.SinkOptions[Fact]{
		Name: partName, Durable: durable(l).Name,
		Handler: events.Handler[Fact]{Decode: decodeFact, Apply: s.apply, Check: s.store.Open},
	})
}
