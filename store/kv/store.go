package kv

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/kv"
	"intenthint/store"
	"intenthint/store/internal/lru"
	"intenthint/subjects"
)

const indexCacheBytes = 16 << 20 // bytes; what is not in the cache is read again

// Store is a [store.Store] in a bucket. It is safe for concurrent use,
// including by several processes.
type Store struct {
	bucket  *bucket
	limit   int
	log     *slog.Logger
	lost    func(token string)
	now     func() time.Time
	locks   *kv.Locks // of sessions
	entries *lru.Cache[*entry]
	indexes *lru.Cache[*index]
}

var _ store.Store = (*Store)(nil)

// Suffix follows the name of the event stream in the name of a system's bucket, and
// Description is for operators. A session is removed as a whole, by its age, so that
// the keys have none.
const (
	Suffix      = "_SESSIONS"
	Description = "Session documents of intenthint"
)

// Open opens the bucket that the configuration names. It creates a missing
// bucket and does not change an existing one, which must keep the last value of
// every key (a history of 1 is enough) without expiry.
func Open(ctx context.Context, js jetstream.JetStream, bucket jetstream.KeyValueConfig, opts store.Options) (*Store, error) {
	b := newBucket(js, bucket)
	var err error
	if b.stream, err = b.find(ctx); err != nil {
		return nil, fmt.Errorf("session bucket %s: %w", bucket.Bucket, err)
	}
	return newStore(b, opts), nil
}

// OpenReader opens a bucket to read from it. It creates none: the error for a
// missing one is [jetstream.ErrStreamNotFound].
func OpenReader(ctx context.Context, js jetstream.JetStream, bucket jetstream.KeyValueConfig, opts store.Options) (store.Reader, error) {
	b := newBucket(js, bucket)
	var err error
	if b.stream, err = js.Stream(ctx, b.name); err != nil {
		return nil, fmt.Errorf("session bucket %s: %w", bucket.Bucket, err)
	}
	return newStore(b, opts), nil
}

func newStore(b *bucket, opts store.Options) *Store {
	opts = opts.WithDefaults()
	return &Store{
		bucket: b, limit: opts.HistoryLimit, log: opts.Logger, now: opts.Now, lost: opts.Lost, locks: kv.NewLocks(),
		entries: lru.New[*entry](opts.CacheBytes),
		indexes: lru.New[*index](indexCacheBytes),
	}
}

// Apply implements [store.Applier].
func (s *Store) Apply(ctx context.Context, facts []store.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	session, err := store.SessionOf(facts)
	if err != nil {
		return err
	}
	token := subjects.Name(session)
	lost, err := s.locked(ctx, token, facts)
	if lost {
		s.lost(token)
	}
	if err != nil {
		if kv.IsAway(err) || kv.IsConflict(err) {
			err = store.Temporary(err)
		}
		return fmt.Errorf("applying to session %s: %w", token, err)
	}
	return nil
}

// locked applies facts with the session locked. It reports whether the
// session was found to be lost, also after an error.
func (s *Store) locked(ctx context.Context, token string, facts []store.Fact) (lost bool, err error) {
	unlock, err := s.locks.Lock(ctx, token)
	if err != nil {
		return false, err
	}
	defer unlock()
	e, _ := s.entries.Get(token)
	// The entry in memory is ahead of the bucket until it is written.
	s.entries.Remove(token)
	if e != nil && !e.written && len(e.leaving) > 0 {
		// Forces a reload: the session may have been removed, or the bucket lost,
		// together with the leaving turns.
		e.at = record{}
	}
	if e == nil && beginsSession(facts) {
		e = &entry{doc: &store.Document{}, at: record{key: token}, guess: true}
	}
	err = kv.ConflictRetry.Do(ctx, func(ctx context.Context) (err error) {
		if e == nil || e.at.revision == 0 && !e.guess {
			var gone bool
			e, gone, err = s.load(ctx, token, e)
			lost = lost || gone
		}
		if err == nil {
			// Within the loop: a removal is a conflict, and may add to these runs.
			facts, err = store.WithoutRemoved(token, facts, func() ([]string, error) { return s.removedRuns(ctx, token) })
		}
		if err == nil {
			var gone bool
			gone, err = s.apply(ctx, token, e, facts)
			lost = lost || gone
		}
		if err != nil && e != nil {
			e.at, e.guess = record{}, false
		}
		return err
	})
	if err == nil {
		s.entries.Put(token, e, int64(e.bytes+e.doc.DecodedBytes())+2<<10)
	}
	return lost, err
}

// beginsSession reports whether a session most likely begins with these facts:
// in that case, reading it first would waste a round trip.
func beginsSession(facts []store.Fact) bool {
	return slices.ContainsFunc(facts, func(f store.Fact) bool {
		return f.Begin != nil && len(f.Begin.Conversation) == 0 && f.Begin.Earlier == 0
	})
}

// apply folds facts into a session and writes it. After an error the entry can
// only be reloaded. lost reports that a retired turn was unreadable, also after
// an error.
func (s *Store) apply(ctx context.Context, token string, e *entry, facts []store.Fact) (lost bool, err error) {
	if err := s.writeLeaving(ctx, token, e); err != nil {
		return false, err
	}
	archive := &archive{ctx: ctx, store: s, token: token, empty: !e.archived && len(e.leaving) == 0}
	change, err := e.doc.Fold(facts, s.limit, archive)
	if err == nil && change.Any() {
		err = s.write(ctx, e, change.Retired)
	}
	return archive.lost, err
}

// probeKey has two tokens, so it is not the key of a session.
const probeKey = "_.probe"

// Check implements [store.Applier]. It creates a bucket that has vanished.
func (s *Store) Check(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if _, err := s.bucket.find(bounded); err != nil {
		return fmt.Errorf("session bucket: %w", err)
	}
	m, err := s.bucket.get(bounded, probeKey)
	if err != nil {
		return fmt.Errorf("reading session bucket: %w", err)
	}
	_, err = s.bucket.put(bounded, probeKey, []byte("probe"), m.revision)
	if err != nil && !kv.IsConflict(err) { // a conflict is another process's probe
		return fmt.Errorf("writing session bucket: %w", err)
	}
	return nil
}
