package consoletest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"intenthint/console"
	"intenthint/decide"
)

// Answers is [console.Answers] in memory.
type Answers struct {
	mu      sync.Mutex
	rubrics []decide.Rubric
	entries []decide.Entry // oldest first
	lessons map[string][]decide.Record
	// Cut is when the decisions begin that are read, zero for all; Refused is the error
	// of each call.
	Cut     time.Time
	Refused error
}

var _ console.Answers = (*Answers)(nil)

// Ask stores a question in the form of the wire.
func (a *Answers) Ask(rubric, name, question string) {
	a.rubrics = append(a.rubrics, decide.Rubric{ID: rubric, Name: name, Key: name, Question: json.RawMessage(question)})
}

// Stand sets whether the student of a rubric answers alone.
func (a *Answers) Stand(rubric string, s decide.Standing) {
	a.rubrics[a.index(rubric)].Standing = s
}

// Learn adds an answer that a student learns from.
func (a *Answers) Learn(rubric string, r decide.Record) {
	if a.lessons == nil {
		a.lessons = map[string][]decide.Record{}
	}
	a.lessons[rubric] = append(a.lessons[rubric], r)
}

// Decide adds decision n about a rubric, made the given time ago. The labels have p and
// what is left of 1.
func (a *Answers) Decide(rubric string, n int, source decide.Source, said, answer, other string, p float64, ago time.Duration) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := time.Now().Add(-ago)
	e := decide.Entry{At: at.UTC(), Decided: decide.Decided{
		ID: fmt.Sprintf("%s-%04d", rubric, n), Agent: "main", Rubric: rubric, Name: a.rubrics[a.index(rubric)].Name, Type: decide.Boolean,
		Answer: answer, Probabilities: map[string]float64{answer: p, other: 1 - p}, Source: source, Took: 0.4, Text: said, Record: decide.RecordText, TS: at.UnixMilli(),
	}}
	if source == decide.Model {
		e.Took, e.Model = 420, "example/small"
	}
	a.entries = append(a.entries, e)
	slices.SortStableFunc(a.entries, func(x, y decide.Entry) int { return x.At.Compare(y.At) })
	return e.ID
}

// Change changes a decision.
func (a *Answers) Change(id string, change func(*decide.Entry)) {
	for i := range a.entries {
		if a.entries[i].ID == id {
			change(&a.entries[i])
		}
	}
}

// Entry returns a decision.
func (a *Answers) Entry(id string) decide.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.entries[slices.IndexFunc(a.entries, func(e decide.Entry) bool { return e.ID == id })]
}

func (a *Answers) index(rubric string) int {
	return slices.IndexFunc(a.rubrics, func(r decide.Rubric) bool { return r.ID == rubric })
}

// Rubrics implements [console.Answers].
func (a *Answers) Rubrics(context.Context) ([]decide.Rubric, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.rubrics), a.Refused
}

// Entries implements [console.Answers].
func (a *Answers) Entries(_ context.Context, rubric string, since time.Time) (out []decide.Entry, from time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Cut.After(since) {
		since = a.Cut
	}
	for _, e := range a.entries {
		if (rubric == "" || e.Rubric == rubric) && !e.At.Before(since) {
			out = append(out, e)
		}
	}
	return out, since, a.Refused
}

// Lessons implements [console.Answers].
func (a *Answers) Lessons(_ context.Context, rubric string) ([]decide.Record, error) {
	return a.lessons[rubric], a.Refused
}

// Rule implements [console.Answers].
func (a *Answers) Rule(*decide.Rubric) decide.Rule { return decide.Rule{Target: 0.95} }

// Sample implements [console.Answers].
func (a *Answers) Sample() int { return 10 }

// Mark implements [console.Answers].
func (a *Answers) Mark(_ context.Context, id, label, by string) (*decide.Decided, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.entries {
		e := &a.entries[i]
		if e.ID != id || a.Refused != nil {
			continue
		}
		if _, ok := e.Probabilities[label]; !ok {
			return nil, decide.ErrUnknownLabel
		}
		e.Mark = &decide.Mark{ID: id, Label: label, By: by}
		return &e.Decided, nil
	}
	if a.Refused != nil {
		return nil, a.Refused
	}
	return nil, decide.ErrUnknownDecision
}

// Continue implements [console.Answers].
func (a *Answers) Continue(_ context.Context, rubric, earlier string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.index(rubric)
	switch {
	case a.Refused != nil:
		return a.Refused
	case i < 0:
		return decide.ErrUnknownRubric
	}
	a.rubrics[i].Continues = earlier
	return nil
}
