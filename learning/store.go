package learning

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/kv"
	"intenthint/record"
	"intenthint/subjects"
)

// Example is the lesson of a run.
type Example struct {
	record.Lesson
	// Removed makes the example a tombstone, so that redelivery of an older event
	// does not bring it back. A tombstone has no text.
	Removed bool `json:"removed,omitempty"`

	revision uint64 // in the bucket
}

// Store is the bucket of examples. It is safe for concurrent use.
type Store struct{ bucket *kv.Bucket }

// New returns a store without touching the bucket, see [Store.Open].
func New(js jetstream.JetStream, config jetstream.KeyValueConfig) *Store {
	return &Store{kv.New(js, config)}
}

// Open opens the bucket and creates a missing one. Otherwise the first use does
// so.
func (s *Store) Open(ctx context.Context) error { return s.bucket.Open(ctx) }

// Put stores the lesson of a run, unless one with higher precedence is known.
// It reports whether it has written.
func (s *Store) Put(ctx context.Context, l record.Lesson) (written bool, err error) {
	return s.change(ctx, l.RunID, func(known *Example) bool {
		if known.RunID != "" && known.Compare(&l) >= 0 {
			return false
		}
		*known = Example{Lesson: l}
		return true
	})
}

// Retract removes the example of a run, if there is one, because of later feedback.
func (s *Store) Retract(ctx context.Context, run string, at int64, id string) error {
	_, err := s.change(ctx, run, func(known *Example) bool {
		removed := removal(known, at, id)
		if known.RunID == "" || known.Removed || known.Compare(&removed.Lesson) >= 0 {
			return false
		}
		*known = removed
		return true
	})
	return err
}

// Remove removes the example of a run for good, and reports whether there was one.
// Only later feedback brings it back.
func (s *Store) Remove(ctx context.Context, run string, now time.Time) (removed bool, err error) {
	return s.change(ctx, run, func(known *Example) bool {
		if known.RunID == "" || known.Removed {
			return false
		}
		*known = removal(known, max(now.UnixMilli(), known.At+1), "")
		return true
	})
}

// removal returns a tombstone of an example.
func removal(known *Example, at int64, id string) Example {
	return Example{
		Lesson:  record.Lesson{RunID: known.RunID, Session: known.Session, Source: record.LessonFeedback, At: at, ID: id},
		Removed: true,
	}
}

func (s *Store) change(ctx context.Context, run string, change func(known *Example) (write bool)) (written bool, err error) {
	_, err = kv.Change(ctx, s.bucket, subjects.Name(run), func(known *kv.Value[Example]) (bool, error) {
		written = change(&known.V)
		return written, nil
	})
	return written && err == nil, err
}

// All returns the lessons of all examples, in order of precedence.
func (s *Store) All(ctx context.Context) ([]record.Lesson, error) {
	known := copied{}
	err := s.bucket.Each(ctx, ">", func(entry jetstream.KeyValueEntry) error {
		known.take(entry)
		return nil
	})
	return Lessons(known.examples()), err
}

// Lessons returns the lessons of the examples that were not removed, in order
// of precedence.
func Lessons(examples []Example) []record.Lesson {
	var out []record.Lesson
	for _, e := range examples {
		if !e.Removed {
			out = append(out, e.Lesson)
		}
	}
	record.BestFirst(out)
	return out
}

// Follow calls use with all examples, and again after each change, until ctx ends.
// While the bucket is unreachable, the last examples stay in use.
func (s *Store) Follow(ctx context.Context, use func([]Example), log *slog.Logger) {
	s.bucket.Follow(ctx, func() (func(jetstream.KeyValueEntry), func()) {
		known := copied{}
		return known.take, func() { use(known.examples()) }
	}, log)
}

// copied is a copy of the bucket, by key.
type copied map[string]Example

// take applies a change. An entry written by another version is left out.
func (c copied) take(entry jetstream.KeyValueEntry) {
	var e Example
	if entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &e) != nil || e.RunID == "" {
		delete(c, entry.Key())
		return
	}
	e.revision = entry.Revision()
	c[entry.Key()] = e
}

func (c copied) examples() []Example {
	out := make([]Example, 0, len(c))
	for _, e := range c {
		out = append(out, e)
	}
	return out
}

// Spent returns the examples to delete: surplus examples of an intent, also those
// beyond a person's or a chat's share; what looks like a prompt injection; unused
// examples from models, unless their intent is unknown and may come back; and
// tombstones from before the given time, whose events cannot be redelivered any
// more.
func Spent(examples []Example, unused []record.Unused, most int, before time.Time) []Example {
	needless := map[string]bool{}
	for _, u := range unused {
		switch u.Reason {
		case record.Share, record.Injection:
			needless[u.RunID] = true
		default:
			needless[u.RunID] = !u.FromPerson() && u.Reason != record.Unknown
		}
	}
	sorted := slices.Clone(examples)
	slices.SortFunc(sorted, func(a, b Example) int { return b.Compare(&a.Lesson) })
	count := map[string]int{}
	return slices.DeleteFunc(sorted, func(e Example) (stays bool) {
		switch {
		case e.Removed:
			return e.At >= before.UnixMilli()
		case needless[e.RunID]:
			return false
		}
		count[e.Intent]++
		return count[e.Intent] <= most
	})
}

// Delete deletes examples, unless they have changed since they were read. The
// bucket's delete markers are purged too, half an hour later at the earliest. It
// returns the number of deleted examples.
func (s *Store) Delete(ctx context.Context, examples []Example) (deleted int, err error) {
	if len(examples) == 0 {
		return 0, nil
	}
	err = s.bucket.Use(ctx, func(bucket jetstream.KeyValue) error {
		deleted = 0
		for _, e := range examples {
			switch err := bucket.Delete(ctx, subjects.Name(e.RunID), jetstream.LastRevision(e.revision)); {
			case err == nil:
				deleted++
			case !kv.IsConflict(err):
				return err
			}
		}
		return bucket.PurgeDeletes(ctx)
	})
	return deleted, err
}

// Forget deletes the examples of sessions, also those that change meanwhile, and
// returns their number.
func (s *Store) Forget(ctx context.Context, sessions ...string) (deleted int, err error) {
	for {
		known := copied{}
		err := s.bucket.Each(ctx, ">", func(entry jetstream.KeyValueEntry) error {
			known.take(entry)
			return nil
		})
		if err != nil {
			return deleted, err
		}
		theirs := slices.DeleteFunc(known.examples(), func(e Example) bool { return !slices.Contains(sessions, e.Session) })
		if len(theirs) == 0 {
			return deleted, nil
		}
		n, err := s.Delete(ctx, theirs)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
}
