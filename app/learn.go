package app

import (
	"maps"
	"slices"

	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/record"
)

// trainedCatalog is a catalogue and the local classifier trained on it.
type trainedCatalog struct {
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
func (t trainedCatalog) learn(files *intents.Catalog, trained *local.Model, lessons []record.Lesson) trainedCatalog {
	next := trainedCatalog{files: files, trained: trained, lessons: lessons, catalog: files, local: trained}
	if len(lessons) > 0 {
		next.chosen = record.Choose(files, trained, lessons, LearntBounds())
	}
	switch {
	case t.files == files && maps.EqualFunc(t.chosen.Examples, next.chosen.Examples, slices.Equal):
		next.catalog, next.local = t.catalog, t.local
	case len(next.chosen.Examples) > 0:
		next.catalog = files.WithExamples(next.chosen.Examples)
		next.local = local.Train(next.catalog)
	}
	return next
}

// swap puts a catalogue and its model in force. training is held.
func (l *live) swap(t trainedCatalog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := l.local == t.local
	l.trainedCatalog = t
	l.metrics.learntExamples.Set(float64(len(t.chosen.Used)))
	if !same {
		l.refresh()
	}
}

// Learn implements [learning.Learner].
func (l *live) Learn(lessons []record.Lesson) []record.Unused {
	l.training.Lock()
	defer l.training.Unlock()
	l.mu.Lock()
	now := l.trainedCatalog
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

// LearntBounds are the bounds of what is learnt from use.
func LearntBounds() record.Bounds {
	return record.Bounds{Most: record.MaxLessons, Share: record.MaxShare, Suspect: Suspicious}
}

// knows reports whether a text is already an example of any intent.
func (t *trainedCatalog) knows(text string) bool {
	normal := local.Normalize(text)
	same := func(e string) bool { return local.Normalize(e) == normal }
	all := append(slices.Clone(t.catalog.Enabled()), t.catalog.Fallback())
	return slices.ContainsFunc(all, func(in intents.Intent) bool {
		return slices.ContainsFunc(in.Examples, same) || slices.ContainsFunc(in.Learnt, same)
	})
}

// Knows implements [learning.Learner].
func (l *live) Knows(text string) bool {
	l.mu.Lock()
	now := l.trainedCatalog
	l.mu.Unlock()
	return now.knows(text)
}
