package decide

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"intenthint/internal/bus"
	"intenthint/internal/kv"
	"intenthint/part"
	"intenthint/subjects"
)

// Simulation is the engine of one process, with real buckets. After each batch it
// applies the events and trains what is due before it returns, so that what it counts
// does not depend on the speed of the machine.
type Simulation struct {
	layout   bus.Layout
	engine   *Engine
	students *Students
	store    *Store
	sink     *sink

	mu     sync.Mutex
	events []*Decided
}

// SimulationOptions are what a simulation depends on besides its settings.
type SimulationOptions struct {
	Layout bus.Layout
	Store  *Store
	// Encoder may be nil.
	Encoder func() (part.Encoder, error)
	// Random chooses the decisions that are checked: a number from 0 to 1.
	Random func() float64
	Log    *slog.Logger
}

// NewSimulation begins one, which follows the buckets until ctx ends.
func NewSimulation(ctx context.Context, s *Settings, o SimulationOptions) *Simulation {
	zeros := NewZeros(o.Encoder)
	out := &Simulation{
		layout: o.Layout, store: o.Store, sink: &sink{store: o.Store},
		students: NewStudents(o.Store, zeros, func(r *Rubric) float64 { return s.rule(r.ID, r.Key).Target }, o.Log),
	}
	out.students.checks.random = o.Random
	out.engine = &Engine{
		Zeros: zeros, Students: out.students, Know: o.Store.Know, Publish: out.publish,
		Metrics: NewMetrics(prometheus.NewRegistry()), Log: o.Log, Ending: ctx,
	}
	out.engine.Use(s)
	go out.students.FollowRubrics(ctx)
	go out.students.FollowRecords(ctx)
	return out
}

func (s *Simulation) publish(d *Decided) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, d)
}

// Decide answers a question about a state. events are those of the answer, and of its
// check.
func (s *Simulation) Decide(ctx context.Context, q *Question, state json.RawMessage) (events []*Decided, err error) {
	b := &Batch{State: state, Questions: []Question{*q}}
	s.engine.Decide(ctx, httpAgent, b)
	for range checksAtOnce { // the check has ended when all places are free
		s.students.checks.places <- struct{}{}
	}
	for range checksAtOnce {
		<-s.students.checks.places
	}
	s.mu.Lock()
	events, s.events = s.events, nil
	s.mu.Unlock()
	for _, d := range events {
		if err := s.apply(ctx, d); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(events, func(d *Decided) bool { return d.Source == Model }) {
		return events, nil // nothing new
	}
	return events, s.study(ctx)
}

// apply does with an event what the sink and the followers of the buckets do.
func (s *Simulation) apply(ctx context.Context, d *Decided) error {
	select {
	case asked := <-s.store.queue:
		if err := s.store.put(ctx, asked); err != nil {
			return err
		}
	default:
	}
	m, err := d.encode(s.layout.Prefix, time.Now())
	if err != nil {
		return err
	}
	ev, err := decodeFact(subjects.HookDecided, d.ID, m.Data)
	if err != nil || ev.Session == "" {
		return err
	}
	if err := s.sink.apply(ctx, []Fact{ev.Fact}); err != nil {
		return err
	}
	return s.until(ctx, func() bool {
		own := s.students.pupils[d.Rubric]
		if own == nil || own.rubric == nil {
			return false
		}
		_, known := own.records[d.ID]
		return known
	})
}

// study brings all students up to date, and waits until they know their standing.
func (s *Simulation) study(ctx context.Context) error {
	for _, rubric := range s.students.due() {
		s.students.study(ctx, rubric)
		want, err := s.Standing(ctx, rubric)
		if err != nil {
			return err
		}
		if err := s.until(ctx, func() bool { return s.students.pupils[rubric].rubric.Standing == want }); err != nil {
			return err
		}
	}
	return nil
}

// followPause is how often a simulation looks for a change of a bucket.
const followPause = 100 * time.Microsecond

func (s *Simulation) until(ctx context.Context, known func() bool) error {
	for {
		s.students.mu.RLock()
		ok := known()
		s.students.mu.RUnlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followPause):
		}
	}
}

// Standing returns whether the student of a rubric answers alone.
func (s *Simulation) Standing(ctx context.Context, rubric string) (Standing, error) {
	r, err := kv.Get[Rubric](ctx, s.store.rubrics, rubric)
	return r.V.Standing, err
}
