package bucket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/kv"
	"intenthint/knowhub/experience"
)

// Experiences is the bucket of experiences. It is safe for concurrent use.
type Experiences struct{ bucket *kv.Bucket }

// ExperiencesIn is the bucket of the experiences of a system (contract §12), kept for
// good.
func ExperiencesIn(l bus.Layout) jetstream.KeyValueConfig {
	return l.Bucket("_EXPERIENCES", "Experiences of agents, kept by intenthint")
}

// ExperiencesOf returns the experiences of a system without touching their bucket, see
// [Experiences.Open].
func ExperiencesOf(l bus.Layout, js jetstream.JetStream) *Experiences {
	return NewExperiences(js, ExperiencesIn(l))
}

// NewExperiences returns the bucket without touching it, see
// [Experiences.Open].
func NewExperiences(js jetstream.JetStream, config jetstream.KeyValueConfig) *Experiences {
	return &Experiences{kv.New(js, config)}
}

// Open opens the bucket and creates a missing one. Otherwise the first use does
// so.
func (s *Experiences) Open(ctx context.Context) error {
	return s.bucket.Open(ctx)
}

// Get returns an experience; ok is false if it does not exist or is unreadable.
func (s *Experiences) Get(ctx context.Context, id string) (e experience.Experience, ok bool, err error) {
	if !experience.ValidID(id) {
		return e, false, nil
	}
	known, err := kv.Get[experience.Experience](ctx, s.bucket, id)
	known.V.ID = id
	return known.V, known.Revision > 0 && readable(known), err
}

// readable reports whether a value is an experience: nothing else has been written that
// could not be decided about.
func readable(known kv.Value[experience.Experience]) bool {
	return known.Broken == nil && complete(known.V)
}

func complete(e experience.Experience) bool { return e.Validate() == nil }

// Change modifies the experience with an id. It retries on conflicts with other
// writers, so change may be called several times. known is nil if the
// experience is missing or unreadable; change returns false to leave it
// unchanged.
//
// The result is the experience afterwards, with its revision; created is true
// if there was none before.
func (s *Experiences) Change(ctx context.Context, id string, change func(known *experience.Experience) (e experience.Experience, write bool, err error)) (out Stored, created bool, err error) {
	if !experience.ValidID(id) {
		return out, false, fmt.Errorf("%w: id", experience.ErrInvalid)
	}
	known, err := kv.Change(ctx, s.bucket, id, func(known *kv.Value[experience.Experience]) (write bool, err error) {
		var before *experience.Experience
		if known.Revision > 0 && readable(*known) {
			known.V.ID = id
			before = &known.V
		}
		known.V, write, err = change(before)
		created = write && before == nil
		return write, err
	})
	if err != nil {
		return Stored{}, false, err
	}
	return Stored{Experience: known.V, Revision: known.Revision}, created, nil
}

// Remove deletes the experience with an id if remove says so, which may be called
// several times. A missing or unreadable one is no error.
func (s *Experiences) Remove(ctx context.Context, id string, remove func(known experience.Experience) bool) error {
	return kv.Remove(ctx, s.bucket, id, func(known *kv.Value[experience.Experience]) bool {
		return readable(*known) && remove(known.V)
	})
}

// Stored is an experience and its revision in the bucket.
type Stored struct {
	experience.Experience
	Revision uint64
}

// All calls yield with every experience, in the order of their last change, and
// returns the keys of unreadable entries. An error of yield ends it.
func (s *Experiences) All(ctx context.Context, yield func(experience.Experience) error) (unreadable []string, err error) {
	err = s.bucket.Each(ctx, ">", func(entry jetstream.KeyValueEntry) error {
		e, err := read(entry)
		if err != nil {
			unreadable = append(unreadable, entry.Key())
			return nil //nolint:nilerr // the caller is told
		}
		return yield(e)
	})
	return unreadable, err
}

var (
	// errKey reports an entry whose key is not an id.
	errKey = errors.New("the key is not an id")
	// errIncomplete reports an entry that is JSON, and no experience.
	errIncomplete = errors.New("no task or no status")
)

// read returns the experience of an entry. Its id is the key, whatever it says itself.
func read(entry jetstream.KeyValueEntry) (e experience.Experience, err error) {
	if !experience.ValidID(entry.Key()) {
		return e, errKey
	}
	if err := json.Unmarshal(entry.Value(), &e); err != nil {
		return experience.Experience{}, err
	}
	if !complete(e) {
		return experience.Experience{}, errIncomplete
	}
	e.ID = entry.Key()
	return e, nil
}
