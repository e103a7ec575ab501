package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"intenthint/classify/local"
	"intenthint/config"
	"intenthint/intents"
	"intenthint/internal/events"
	"intenthint/learnt"
	"intenthint/record"
)

// learnSink is the name of the sink of HINT_LEARN in metrics and logs.
const learnSink = "learn"

// The pause between two trainings on examples learnt from use: at least
// relearnPause, and restShare times the duration of the training, so that
// training takes at most a sixth of a processor; but at most maxRest, since
// somebody may be waiting for an example to be learnt or removed.
const (
	relearnPause = time.Second
	restShare    = 5
	maxRest      = 10 * time.Second
)

// rest pauses after a training, or until ctx ends.
func rest(ctx context.Context, took time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(min(max(relearnPause, restShare*took), maxRest)):
	}
}

// taught is a catalogue and the local classifier trained on it.
type taught struct {
	// files is the catalogue of the intent files, and trained the model trained on
	// it.
	files   *intents.Catalog
	trained *local.Model
	// lessons were learnt from use; chosen are those that fit the catalogue.
	// catalog and local are files and trained with the chosen lessons added.
	lessons []record.Lesson
	chosen  record.Chosen
	catalog *intents.Catalog
	local   *local.Model
}

// learn trains on intent files and the lessons that fit them, which may take as long
// as [local.Train]. It does not train if t has the same input.
func (t taught) learn(files *intents.Catalog, trained *local.Model, lessons []record.Lesson) taught {
	next := taught{files: files, trained: trained, lessons: lessons, catalog: files, local: trained}
	if len(lessons) > 0 {
		next.chosen = record.Choose(files, trained, lessons, record.MaxLessons)
	}
	switch {
	case t.files == files && maps.EqualFunc(t.chosen.Examples, next.chosen.Examples, slices.Equal):
		next.catalog, next.local = t.catalog, t.local
	case len(next.chosen.Examples) > 0:
		next.catalog = files.Taught(next.chosen.Examples)
		next.local = local.Train(next.catalog)
	}
	return next
}

// swap puts a catalogue and its model in force. training is held.
func (l *live) swap(t taught) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := l.local == t.local
	l.taught = t
	l.metrics.learnt.Set(float64(len(t.chosen.Used)))
	if !same {
		l.refresh()
	}
}

// useLessons trains on new lessons, and returns those that are not used.
func (l *live) useLessons(lessons []record.Lesson) []record.Unused {
	l.training.Lock()
	defer l.training.Unlock()
	l.mu.Lock()
	now := l.taught
	l.mu.Unlock()
	next := now.learn(now.files, now.trained, lessons)
	l.swap(next)
	if next.local == now.local {
		return next.chosen.Unused
	}
	l.log.Info("learnt from use", "examples", len(next.chosen.Used))
	returnMemory()
	return next.chosen.Unused
}

// knows reports whether a text is already an example of any intent.
func (t *taught) knows(text string) bool {
	normal := local.Normalize(text)
	same := func(e string) bool { return local.Normalize(e) == normal }
	all := append(slices.Clone(t.catalog.Enabled()), t.catalog.Fallback())
	return slices.ContainsFunc(all, func(in intents.Intent) bool {
		return slices.ContainsFunc(in.Examples, same) || slices.ContainsFunc(in.Learnt, same)
	})
}

// learner trains again when examples are learnt or removed.
type learner struct {
	live  *live
	store *learnt.Store
	// kept is how long events are kept; 0 means forever.
	kept time.Duration
	log  *slog.Logger
	wake chan struct{}

	mu       sync.Mutex
	examples []learnt.Example
}

// take replaces the examples.
func (l *learner) take(examples []learnt.Example) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.examples = examples
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run trains until ctx ends.
func (l *learner) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		began := time.Now()
		l.train(ctx)
		rest(ctx, time.Since(began))
	}
}

// train trains on the current examples, and deletes the surplus ones.
func (l *learner) train(ctx context.Context) {
	l.mu.Lock()
	examples := l.examples
	l.mu.Unlock()
	unused := l.live.useLessons(learnt.Lessons(examples))
	before := time.Time{}
	if l.kept > 0 {
		before = time.Now().Add(-l.kept)
	}
	if _, err := l.store.Delete(ctx, learnt.Spent(examples, unused, record.MaxLessons, before)); err != nil && ctx.Err() == nil {
		l.log.Debug("surplus examples not deleted", "error", err)
	}
}

// refuses reports whether a lesson from a model adds nothing new.
func (l *learner) refuses(lesson record.Lesson) bool {
	l.live.mu.Lock()
	now := l.live.taught
	l.live.mu.Unlock()
	return now.knows(lesson.Text)
}

// openLearning begins to learn from use, if HINT_LEARN enables it. It does not
// delay requests.
func (a *App) openLearning(ctx context.Context) error {
	if a.cfg.Learn != config.LearnAuto {
		return nil
	}
	log := a.log.With("part", learnSink)
	l := &learner{live: a.live, store: learnt.Of(a.layout, a.events.JS), kept: a.cfg.Bus.StreamMaxAge, log: log, wake: make(chan struct{}, 1)}
	if err := patiently(ctx, a.log, l.store.Open); err != nil {
		log.Warn("bucket unavailable, will retry", "error", err)
	}
	if err := a.takeLessons(ctx, l); err != nil {
		return err
	}
	a.work.Go(func() { l.run(ctx) })
	a.work.Go(func() { l.store.Follow(ctx, l.take, log) })
	return nil
}

// takeLessons starts to make examples from events.
func (a *App) takeLessons(ctx context.Context, l *learner) error {
	source := &learnt.Sink{
		Store: l.store, Sessions: a.sessions, Refuses: l.refuses, Ending: ctx.Done(), Log: l.log,
		MinConfidence: func() float64 { return a.live.config().Classifier.MinConfidence },
		Applied: func(ctx context.Context) (applied, last uint64, err error) {
			place, err := events.Where(ctx, a.events.JS, a.layout)
			return place.Applied, place.Last, err
		},
	}
	var sink *events.Sink[learnt.Fact]
	err := patiently(ctx, a.log, func(once context.Context) (err error) {
		sink, err = events.StartSink(once, events.SinkOptions[learnt.Fact]{
			Name: learnSink, JS: a.events.JS, Layout: a.layout, Durable: learnt.Durable(a.layout).Name,
			Handler: events.Handler[learnt.Fact]{
				Decode: func(_, msgID string, data []byte) (events.Event[learnt.Fact], error) {
					session, hook, fact, err := learnt.DecodeFact(msgID, data)
					return events.Event[learnt.Fact]{Session: session, Hook: hook, Fact: fact}, err
				},
				Apply: source.Apply, Check: a.sessions.Check,
			},
			Metrics: a.metrics.events, Log: a.log,
		})
		return err
	})
	if err != nil {
		return err
	}
	a.cleanup.add("learnt events", sink.Stop)
	a.health.healthy.Add("learnt events", sink.Check)
	return nil
}
