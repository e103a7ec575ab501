package bucket

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/kv"
	"intenthint/knowhub/experience"
)

// Follower keeps a copy of the bucket.
type Follower interface {
	// Place returns the bucket that the copy belongs to, "" for none, and the
	// revision that it has reached.
	Place() (bucket string, revision uint64)
	// Reset empties the copy. From now on it belongs to the given bucket, at
	// revision 0.
	Reset(bucket string)
	// Apply applies changes in the order of their revisions, at least one.
	Apply(changes []experience.Change)
	// Held returns how many keys of the bucket the copy knows, those that were removed
	// included.
	Held() (keys uint64)
}

// Following holds the callbacks of [Experiences.Follow].
type Following struct {
	// CaughtUp is called once the copy has all entries that existed at the beginning,
	// and again after each reset.
	CaughtUp func()
	// Unreadable receives the key of an entry that is no experience, and why.
	Unreadable func(key string, err error)
}

// Follow gives a follower all changes from its place on, until ctx ends or an
// error occurs. A copy of another bucket, or one that is ahead of the bucket,
// is begun again. One that holds what the bucket cannot hold is emptied, and Follow
// ends with [kv.ErrPurged].
func (s *Experiences) Follow(ctx context.Context, f Follower, o Following) error {
	caught, current := false, ""
	err := s.bucket.Watch(ctx, kv.Watch{
		Begin: func(id string, last uint64) (uint64, error) {
			current = id
			of, place := f.Place()
			if of != id || place > last {
				f.Reset(id)
				caught, place = false, 0
			}
			return place, nil
		},
		Take: func(entries []jetstream.KeyValueEntry, complete bool) error {
			changes := make([]experience.Change, len(entries))
			for i, entry := range entries {
				changes[i] = o.changeOf(entry)
			}
			if len(changes) > 0 {
				f.Apply(changes)
			}
			if complete && !caught {
				caught = true
				o.CaughtUp()
			}
			return nil
		},
		Held: func() (uint64, error) { return f.Held(), nil },
	})
	if errors.Is(err, kv.ErrPurged) {
		f.Reset(current)
	}
	return err
}

// changeOf reads an entry. An unreadable entry counts as removed: it cannot be found
// until it is repaired.
func (o Following) changeOf(entry jetstream.KeyValueEntry) experience.Change {
	c := experience.Change{ID: entry.Key(), Revision: entry.Revision(), Removed: entry.Operation() != jetstream.KeyValuePut}
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
