package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/payload"
)

// maxReadEntries bounds the events that are read for a page: 20,000 have about 15 MB.
const maxReadEntries = 20_000

// Errors of [Desk.Mark].
var (
	ErrUnknownDecision = errors.New("this decision is not in the event stream")
	ErrUnknownLabel    = errors.New("the question has no such label")
)

// Desk is what a person sees of the decisions of a system, and changes. It is safe for
// concurrent use.
type Desk struct {
	*Store
	JS       jetstream.JetStream
	Layout   bus.Layout
	Settings func() *Settings
	Publish  func(ctx context.Context, about payload.Context, said payload.Feedback) error

	most int // 0 for maxReadEntries; for tests
}

// Entries returns the decisions about a rubric, "" for all, since a time, oldest first.
// Of too many only the later ones are read: from is where they begin.
func (d *Desk) Entries(ctx context.Context, rubric string, since time.Time) (entries []Entry, from time.Time, err error) {
	for {
		entries, err = read(ctx, d.JS, d.Layout, span{rubric: rubric, since: since, most: cmp.Or(d.most, maxReadEntries)})
		if !errors.Is(err, errTooMany) {
			return entries, since, err
		}
		since = since.Add(time.Since(since) / 2)
	}
}

// Rule returns the settings of a rubric.
func (d *Desk) Rule(r *Rubric) Rule { return d.Settings().rule(r.ID, r.Key) }

// Sample returns how many random decisions a day are offered for marking.
func (d *Desk) Sample() int { return d.Settings().Sample }

// Mark says what the right answer of a decision is, and returns the decision.
func (d *Desk) Mark(ctx context.Context, id, label, by string) (*Decided, error) {
	rubric, ok := RubricOf(id)
	if !ok {
		return nil, ErrUnknownDecision
	}
	found, err := finder(d.JS, d.Layout)(ctx, rubric, id)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, ErrUnknownDecision
	}
	if _, ok := found.Probabilities[label]; !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknownLabel, label)
	}
	return found, d.Publish(ctx, MarkContext(found.Agent, rubric), Marked(id, label, by))
}

// Student is what is known of the student of a rubric.
type Student struct {
	Standing
	// Learns is how many answers it learns from, Inherited how many of them are about
	// rubrics that it continues. Of its Trials, in which it was compared with the teacher
	// or a mark, Agreed agreed; AtLeast is the exact one-sided 95 % lower bound of the
	// agreement.
	Learns    int     `json:"learns"`
	Inherited int     `json:"inherited,omitempty"`
	Trials    int     `json:"trials"`
	Agreed    int     `json:"agreed"`
	AtLeast   float64 `json:"atLeast"`
}

// StudentOf returns what is known of a student, from all that it learns from. It counts
// the trials that its standing depends on: where it answers alone, those of what it was
// sure of.
func StudentOf(rubric string, standing Standing, lessons []Record) Student {
	s := Student{Standing: standing, Learns: len(lessons)}
	var own []Record
	for _, r := range lessons {
		if of, _ := RubricOf(r.ID); of == rubric {
			own = append(own, r)
		}
	}
	s.Inherited = len(lessons) - len(own)
	counted := slices.DeleteFunc(Trials(own), func(t Trial) bool { return t.At <= s.Back || t.P < s.Threshold })
	s.Agreed, s.Trials = agreed(newest(counted, window))
	s.AtLeast = LowerBound(s.Agreed, s.Trials)
	return s
}

// Cost is what the answers of a teacher cost.
type Cost struct {
	// Calls are its answers: those that were given, late ones, and checks.
	Calls  int            `json:"calls"`
	Tokens payload.Tokens `json:"tokens"`
	// Median and P95 are the times until an answer was there, in milliseconds; 0 without
	// answers.
	Median float64 `json:"medianMs"`
	P95    float64 `json:"p95Ms"`
}

// CostOf sums up a teacher's answers.
func CostOf(entries []Entry) (t Cost) {
	var took []float64
	for _, e := range entries {
		if e.Source != Model {
			continue
		}
		took = append(took, e.Took)
		if e.Tokens != nil {
			t.Tokens.In += e.Tokens.In
			t.Tokens.Out += e.Tokens.Out
		}
	}
	slices.Sort(took)
	if t.Calls = len(took); t.Calls > 0 {
		t.Median, t.P95 = took[(t.Calls-1)/2], took[(t.Calls*95+99)/100-1]
	}
	return t
}
