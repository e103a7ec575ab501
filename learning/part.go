package learning

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/events"
	"intenthint/part"
	"intenthint/record"
	"intenthint/store"
	"intenthint/subjects"
)

// Names of the part, and of its sink in metrics and logs.
const (
	name     = "learnt"
	sinkName = "learn"
)

// Learner is what learns: the local classifier.
type Learner interface {
	// Learn trains on lessons, and returns those that are not used.
	Learn(lessons []record.Lesson) []record.Unused
	// Knows reports whether a text is already an example of any intent.
	Knows(text string) bool
}

// Source is what examples are made from.
type Source struct {
	Learner
	// Sessions returns the session store, once it is open.
	Sessions func() store.Store
	// MinConfidence returns the confidence below which no hint was given.
	MinConfidence func() float64
	// Suspect reports whether a text looks like a prompt injection.
	Suspect func(text string) bool
}

// Part returns the learning from use as a part of the program.
func Part(s Source) part.Part {
	return part.Part{
		Name: name, AfterRequests: true,
		On:    func(p part.Program) bool { return p.Learn },
		Needs: func(l bus.Layout, _ part.Program) part.Needs { return needs(l) },
		Open: func(ctx context.Context, env part.Env) (*part.Running, error) {
			return open(ctx, env, s)
		},
		Forget: forgetter,
	}
}

func needs(l bus.Layout) part.Needs {
	return part.Needs{Buckets: []bus.Bucket{{Config: Bucket(l), Kept: true, Followed: true}}, Durables: []bus.Durable{Durable(l)}}
}

// Bucket is the bucket of the examples. An example is kept until it is removed, or
// newer ones take its place.
func Bucket(l bus.Layout) jetstream.KeyValueConfig {
	return l.Bucket("_LEARNT", "Examples that the local classifiers of intenthint learnt from use")
}

// Durable is the durable of the events from which examples are learnt.
func Durable(l bus.Layout) bus.Durable {
	return bus.Durable{
		Name:        l.QueueGroup + "-learn",
		Hooks:       []string{subjects.HookFeedback, subjects.HookTurnBegun},
		Description: "Feedback and answered turns, from which intenthint learns examples",
	}
}

// Of returns the examples of a system without touching their bucket, see
// [Store.Open].
func Of(l bus.Layout, js jetstream.JetStream) *Store { return New(js, Bucket(l)) }

// open begins to learn from use.
func open(ctx context.Context, env part.Env, s Source) (*part.Running, error) {
	t := &trainer{learner: s, store: Of(env.Layout, env.Events.JS), retention: env.Layout.MaxAge, log: env.Log, wake: make(chan struct{}, 1)}
	if err := env.Retry(ctx, t.store.Open); err != nil {
		env.Log.Warn("bucket unavailable, will retry", "error", err)
	}
	env.Go(t.run)
	env.Go(func(ctx context.Context) { t.store.Follow(ctx, t.take, env.Log) })
	sessions := s.Sessions()
	sink := &Sink{
		Store: t.store, Sessions: sessions, Ending: ctx.Done(), Log: env.Log, MinConfidence: s.MinConfidence, Suspect: s.Suspect,
		Refuses: func(l record.Lesson) bool { return s.Knows(l.Text) },
		Applied: func(ctx context.Context) (applied, last uint64, err error) {
			place, err := events.Where(ctx, env.Events.JS, env.Layout)
			return place.Applied, place.Last, err
		},
	}
	return &part.Running{Sinks: []part.Sink{part.Take(events.SinkOptions[Fact]{
		Name: sinkName, Durable: Durable(env.Layout).Name,
		Handler: events.Handler[Fact]{
			Decode: func(named, msgID string, data []byte) (events.Event[Fact], error) {
				session, hook, fact, err := DecodeFact(named, msgID, data)
				return events.Event[Fact]{Session: session, Hook: hook, Fact: fact}, err
			},
			Apply: sink.Apply, Check: sessions.Check,
		},
	})}}, nil
}

// forgetter forgets the examples of sessions, if any were ever learnt.
func forgetter(ctx context.Context, l bus.Layout, js jetstream.JetStream) (f part.Forget, err error) {
	switch _, err := js.KeyValue(ctx, Bucket(l).Bucket); {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		return f, nil
	case err != nil:
		return f, fmt.Errorf("bucket %s: %w", Bucket(l).Bucket, err)
	}
	examples := Of(l, js)
	return part.Forget{What: "learnt example", Do: func(ctx context.Context, session string) (int, error) {
		return examples.Forget(ctx, session)
	}}, nil
}

// The pause between two trainings on examples learnt from use: at least
// relearnPause, and restShare times the duration of the training, so that
// training takes at most a sixth of a processor; but at most maxRest, since
// somebody may be waiting for an example to be learnt or removed.
const (
	relearnPause = time.Second
	restShare    = 5
	maxRest      = 10 * time.Second
)

// Rest pauses after a training, or until ctx ends.
func Rest(ctx context.Context, took time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(min(max(relearnPause, restShare*took), maxRest)):
	}
}

// trainer trains again when examples are learnt or removed.
type trainer struct {
	learner Learner
	store   *Store
	// retention is how long events are kept; 0 means forever.
	retention time.Duration
	log       *slog.Logger
	wake      chan struct{}

	mu       sync.Mutex
	examples []Example
}

// take replaces the examples.
func (t *trainer) take(examples []Example) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.examples = examples
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run trains until ctx ends.
func (t *trainer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		began := time.Now()
		t.train(ctx)
		Rest(ctx, time.Since(began))
	}
}

// train trains on the current examples, and deletes the surplus ones.
func (t *trainer) train(ctx context.Context) {
	t.mu.Lock()
	examples := t.examples
	t.mu.Unlock()
	unused := t.learner.Learn(Lessons(examples))
	before := time.Time{}
	if t.retention > 0 {
		before = time.Now().Add(-t.retention)
	}
	if _, err := t.store.Delete(ctx, Spent(examples, unused, record.MaxLessons, before)); err != nil && ctx.Err() == nil {
		t.log.Debug("surplus examples not deleted", "error", err)
	}
}
