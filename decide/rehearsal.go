package decide

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"intenthint/part"
)

// Rehearsal answers questions as a consumer would, in this process, and stores nothing.
type Rehearsal struct {
	engine *Engine
	store  *Store
}

// NewRehearsal returns one with the given settings. encoder may be nil.
func NewRehearsal(s *Settings, store *Store, encoder func() (part.Encoder, error), log *slog.Logger) *Rehearsal {
	zeros := NewZeros(encoder)
	e := &Engine{
		Zeros: zeros, Metrics: NewMetrics(prometheus.NewRegistry()), Log: log, Ending: context.Background(),
		Students: NewStudents(store, zeros, func(r *Rubric) float64 { return s.rule(r.ID, r.Key).Target }, log),
		Know:     func(string, string, *Question, json.RawMessage) {}, Publish: func(*Decided) {},
	}
	e.Students.checks.random = func() float64 { return 1 } // nothing is checked
	e.Use(s)
	return &Rehearsal{e, store}
}

// Learn trains the student of a rubric on what is stored, as a consumer does; without
// enough answers there is none.
func (r *Rehearsal) Learn(ctx context.Context, rubric Rubric) error {
	records, err := r.store.Lessons(ctx, rubric.ID)
	if err != nil {
		return err
	}
	own := r.engine.Students.pupil(rubric.ID)
	own.rubric = &rubric
	r.engine.Students.train(ctx, own, &rubric, records)
	return nil
}

// Rehearsed is an answer; Skip is set if nobody answered.
type Rehearsed struct {
	Answer      string
	Probability float64
	Source      Source
	Model       string
	Skip        Skip
}

// Ask answers a rubric's question about a state. Its key is the one under which it was
// last asked, so that the same settings hold.
func (r *Rehearsal) Ask(ctx context.Context, rubric *Rubric, state json.RawMessage) (out Rehearsed, err error) {
	q, err := rubric.Parsed()
	if err != nil {
		return out, err
	}
	q.Key = rubric.Key
	s := r.engine.Settings()
	list := []asked{{Question: &q, rubric: rubric.ID, rule: s.rule(rubric.ID, rubric.Key)}}
	list[0].text = recorded(textOf(state, list[0].rule.Focus))
	b := &Batch{State: state, Questions: []Question{q}}
	if out.Skip = r.engine.answer(ctx, s, "", b, list); out.Skip != "" {
		return out, nil
	}
	a := list[0].answer
	at := best(a.Probabilities)
	return Rehearsed{Answer: q.Labels[at], Probability: a.Probabilities[at], Source: a.Source, Model: a.Model}, nil
}
