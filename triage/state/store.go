package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/kv"
	"intenthint/subjects"
)

// Buckets are the configurations of the three buckets.
type Buckets struct {
	Decisions, Recent, Marks jetstream.KeyValueConfig
}

// recentTime is how long the recent messages of a group are kept after the last
// one (contract §11).
const recentTime = time.Hour

// BucketsOf returns the buckets of a system. Decisions are kept as long as events,
// marks until they are removed.
func BucketsOf(l bus.Layout) Buckets {
	b := Buckets{
		Decisions: l.Bucket("_TRIAGE", "Decisions of the triage gate of intenthint"),
		Recent:    l.Bucket("_TRIAGE_RECENT", "Recent messages of the groups that the triage gate of intenthint looks at"),
		Marks:     l.Bucket("_TRIAGE_MARKS", "What people said of decisions of the triage gate of intenthint"),
	}
	b.Decisions.TTL, b.Recent.TTL = l.MaxAge, recentTime
	return b
}

// Of returns the shared state of a system without touching its buckets, see
// [Store.Open].
func Of(l bus.Layout, js jetstream.JetStream) *Store { return New(js, BucketsOf(l)) }

// Store is the shared state. It is safe for concurrent use.
type Store struct {
	decisions, recent, marks *kv.Bucket
}

// New returns a store without touching the buckets, see [Store.Open].
func New(js jetstream.JetStream, b Buckets) *Store {
	return &Store{kv.New(js, b.Decisions), kv.New(js, b.Recent), kv.New(js, b.Marks)}
}

// Open opens the buckets and creates missing ones. Otherwise the first use of
// each does so.
func (s *Store) Open(ctx context.Context) error {
	for _, b := range []*kv.Bucket{s.decisions, s.recent, s.marks} {
		if err := b.Open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tokens returns the key tokens of a message of a group.
func tokens(group, message string) string { return subjects.Name(group) + "." + subjects.Name(message) }

// change modifies the document of a key, see [kv.Change].
func change[T any](ctx context.Context, b *kv.Bucket, key string, change func(doc *T) (write bool, err error)) error {
	_, err := kv.Change(ctx, b, key, func(known *kv.Value[T]) (bool, error) { return change(&known.V) })
	return err
}

// each calls yield with the values of all keys that match a pattern. Values
// written by another version are left out.
func each[T any](ctx context.Context, b *kv.Bucket, pattern string, yield func(v T, created time.Time) error) error {
	return b.Each(ctx, pattern, func(entry jetstream.KeyValueEntry) error {
		var v T
		if json.Unmarshal(entry.Value(), &v) != nil {
			return nil //nolint:nilerr // written by another version
		}
		return yield(v, entry.Created())
	})
}
