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
	// Revision is that of the bucket, greater than those of all changes before.
	Revision uint64
	// Experience is what is there now, unless it was Removed.
	Experience experience.Experience
	Removed    bool
}

// Follower keeps a copy of the bucket.
type Follower interface {
	// Place returns of which bucket the copy is, "" for none, and up to which
	// revision.
	Place(ctx context.Context) (bucket string, revision uint64, err error)
	// Reset empties the copy; it is of that bucket from now on, at revision 0.
	Reset(ctx context.Context, bucket string) error
	// Apply takes changes, in the order of their revisions. It may be given some
	// again.
	Apply(ctx context.Context, changes []Change) error
}

const (
	// lookPause is how often [Experiences.Follow] looks whether the bucket is
	// still the one that it follows, and whether there is still a copy.
	lookPause = time.Second
	// maxBatch bounds the changes that are applied together: a copy that begins
	// writes many at once, and what is read of it meanwhile is not held up for
	// long.
	maxBatch = 200
)

// Follow gives a follower all changes from its place on, until ctx or the first
// error ends it. A copy of another bucket, or one that is ahead of it, is begun
// again. check is called now and then, and its error ends Follow; applied is told
// up to which revision the copy is, and caughtUp once it has all that was there at
// the beginning.
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

// gather takes what is there already together with a first entry. A nil entry
// ends what was there at the beginning.
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

// changeOf reads an entry. One that is not readable counts as removed: it cannot
// be found until somebody mends it.
func changeOf(entry jetstream.KeyValueEntry) Change {
	c := Change{ID: entry.Key(), Revision: entry.Revision()}
	if entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &c.Experience) != nil {
		c.Removed, c.Experience = true, experience.Experience{}
		return c
	}
	c.Experience.ID = c.ID
	return c
}
