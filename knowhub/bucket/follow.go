package bucket

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/knowhub/experience"
)

// Change is a change of the bucket.
type Change struct {
	ID string
	// Revision is the bucket's revision, greater than those of all earlier
	// changes.
	Revision uint64
	// Experience is the current experience, unless it was Removed.
	Experience experience.Experience
	Removed    bool
}

// Follower keeps a copy of the bucket.
type Follower interface {
	// Place returns the bucket that the copy belongs to, "" for none, and the
	// revision that it has reached.
	Place(ctx context.Context) (bucket string, revision uint64, err error)
	// Reset empties the copy. From now on it belongs to the given bucket, at
	// revision 0.
	Reset(ctx context.Context, bucket string) error
	// Apply applies changes in the order of their revisions. It must be
	// idempotent: changes may be repeated.
	Apply(ctx context.Context, changes []Change) error
}

const (
	// lookPause is how often [Experiences.Follow] checks that the bucket is still
	// the one it follows, and that the copy still exists.
	lookPause = time.Second
	// maxBatch bounds the changes that are applied together: a new copy is written
	// in large batches, without delaying readers for long.
	maxBatch = 200
)

// Follow gives a follower all changes from its place on, until ctx ends or an
// error occurs. A copy of another bucket, or one that is ahead of the bucket,
// is begun again. check is called periodically, and its error ends Follow;
// applied is called with the revision that the copy has reached, and caughtUp
// once it has all entries that existed at the beginning.
func (s *Experiences) Follow(ctx context.Context, f Follower, check func() error, applied func(revision uint64), caughtUp func()) error {
	return s.bucket.Use(ctx, func(kv jetstream.KeyValue) error {
		made, last, err := s.bucket.State(ctx)
		if err != nil {
			return err
		}
		id := fmt.Sprintf("%s@%d", s.bucket.Name(), made.UnixNano())
		of, place, err := f.Place(ctx)
		if err != nil {
			return err
		}
		if of != id || place > last {
			if err := f.Reset(ctx, id); err != nil {
				return err
			}
			place = 0
		}
		applied(place)
		watcher, err := kv.WatchAll(ctx, jetstream.ResumeFromRevision(place+1))
		if err != nil {
			return err
		}
		defer func() { _ = watcher.Stop() }()
		look := time.NewTicker(lookPause)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-look.C:
				if err := s.bucket.Same(ctx, made); err != nil {
					return err
				}
				if err := check(); err != nil {
					return err
				}
			case entry, open := <-watcher.Updates():
				if !open {
					return bus.ErrBucketAway
				}
				changes, complete := gather(entry, watcher.Updates())
				if len(changes) > 0 {
					if err := f.Apply(ctx, changes); err != nil {
						return err
					}
					applied(changes[len(changes)-1].Revision)
				}
				if complete {
					caughtUp()
				}
			}
		}
	})
}

// gather collects a first entry and the entries that are already available. A
// nil entry marks the end of the initial entries.
func gather(first jetstream.KeyValueEntry, more <-chan jetstream.KeyValueEntry) (changes []Change, complete bool) {
	for entry := first; ; {
		if entry == nil {
			complete = true
		} else if experience.ValidID(entry.Key()) {
			changes = append(changes, changeOf(entry))
		}
		if len(changes) == maxBatch {
			return changes, complete
		}
		select {
		case next, open := <-more:
			if !open {
				return changes, complete
			}
			entry = next
		default:
			return changes, complete
		}
	}
}

// changeOf reads an entry. An unreadable entry counts as removed: it cannot be
// found until it is repaired.
func changeOf(entry jetstream.KeyValueEntry) Change {
	c := Change{ID: entry.Key(), Revision: entry.Revision()}
	if entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &c.Experience) != nil {
		c.Removed, c.Experience = true, experience.Experience{}
		return c
	}
	c.Experience.ID = c.ID
	return c
}
