package bucket

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/knowhub/experience"
)

// Change is a change of the bucket.
type Change struct {
	// ID is the key.
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
	// Held returns how many keys of the bucket the copy knows, those that were removed
	// included.
	Held(ctx context.Context) (keys uint64, err error)
}

// Following holds the callbacks of [Experiences.Follow].
type Following struct {
	// Check is called every second. Its error ends Follow.
	Check func() error
	// Applied receives the revision that the copy has reached.
	Applied func(revision uint64)
	// CaughtUp is called once the copy has all entries that existed at the beginning.
	CaughtUp func()
	// Unreadable receives the key of an entry that is no experience, and why.
	Unreadable func(key string, err error)
}

// Follow gives a follower all changes from its place on, until ctx ends or an
// error occurs. A copy of another bucket, or one that is ahead of the bucket,
// is begun again. One that holds what the bucket cannot hold is emptied, and Follow
// ends with [bus.ErrPurged].
func (s *Experiences) Follow(ctx context.Context, f Follower, o Following) error {
	caught, current := false, ""
	err := s.bucket.Watch(ctx, bus.Watch{
		Begin: func(id string, last uint64) (uint64, error) {
			current = id
			of, place, err := f.Place(ctx)
			if err != nil {
				return 0, err
			}
			if of != id || place > last {
				if err := f.Reset(ctx, id); err != nil {
					return 0, err
				}
				place = 0
			}
			o.Applied(place)
			return place, nil
		},
		Take: func(entries []jetstream.KeyValueEntry, complete bool) error {
			changes := make([]Change, len(entries))
			for i, entry := range entries {
				changes[i] = o.changeOf(entry)
			}
			if len(changes) > 0 {
				if err := f.Apply(ctx, changes); err != nil {
					return err
				}
				o.Applied(changes[len(changes)-1].Revision)
			}
			if complete && !caught {
				caught = true
				o.CaughtUp()
			}
			return nil
		},
		Check: o.Check,
		Held:  func() (uint64, error) { return f.Held(ctx) },
	})
	if errors.Is(err, bus.ErrPurged) {
		err = errors.Join(err, f.Reset(ctx, current))
	}
	return err
}

// changeOf reads an entry. An unreadable entry counts as removed: it cannot be found
// until it is repaired.
func (o Following) changeOf(entry jetstream.KeyValueEntry) Change {
	c := Change{ID: entry.Key(), Revision: entry.Revision(), Removed: entry.Operation() != jetstream.KeyValuePut}
	if c.Removed {
		return c
	}
	var err error
	if c.Experience, err = read(entry); err != nil {
		c.Removed = true
		o.Unreadable(c.ID, err)
	}
	return c
}
