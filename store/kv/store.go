// Package kv keeps sessions in a JetStream key-value bucket (contract §8, §9),
// for consumer processes on any number of hosts.
//
// The value under the token of a session decides: it holds the document, what
// waits for its turn, and the turns that are leaving the document for keys of
// their own. Every change is one compare-and-set of that value, so that an
// Apply happens as a whole or not at all, whenever a process dies.
//
// A turn that is retired stays in the value, as leaving, until the next change.
// Whoever makes that change first writes the leaving turns under their own
// keys. So retired turns change only through the value of the session, and
// between two changes of it each has exactly one content: what the value says
// of leaving turns, and what their keys say of the others.
//
// A process that is late can not put an older turn in the place of a newer one.
// It expects its key at a revision that it has read, and below the revision at
// which it has seen the turn leave. The next change of the session came after
// the leaving turn was written above that revision; from then on there is no
// such revision to be found.
package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/store"
	"intenthint/store/internal/lru"
	"intenthint/subjects"
)

const (
	indexCacheBytes = 16 << 20
	shardCount      = 64
)

// A change that loses against another process's is made again, for about a
// second: every loss means that somebody else was done.
const (
	maxAttempts = 40
	longPause   = 50 * time.Millisecond
)

// lookTime is how long sessions that seem to begin are read first once one of
// them had begun before: where no conversation is kept, all turns seem to.
const lookTime = time.Minute

// Store is a [store.Store] in a bucket. It is safe for concurrent use, also by
// several processes.
type Store struct {
	bucket  *bucket
	limit   int
	log     *slog.Logger
	lost    func(token string)
	now     func() time.Time
	shards  [shardCount]chan struct{}
	entries *lru.Cache[*entry]
	indexes *lru.Cache[*index]
	// look is the time, in Unix nanoseconds, until which sessions that seem to
	// begin are read first.
	look atomic.Int64
}

var _ store.Store = (*Store)(nil)

// entry is a session in memory, as it was written at a revision.
type entry struct {
	doc *store.Document
	// at is the record that doc was made of.
	at record
	// bytes is the size of its data.
	bytes int
	// archived: turns of the session may stand under keys of their own.
	archived bool
	// leaving are the turns that the value holds beside the document.
	leaving []json.RawMessage
	// written: the leaving turns stand under their own keys as well.
	written bool
	// guess: nobody has looked whether the session is there. The
	// compare-and-set will tell.
	guess bool
}

// Open opens the bucket that the configuration names. It is created when it is
// missing, and left as it is when it exists; it must keep the last value of
// every key (a history of 1 is enough) for ever.
func Open(ctx context.Context, js jetstream.JetStream, bucket jetstream.KeyValueConfig, opts store.Options) (*Store, error) {
	opts = opts.WithDefaults()
	s := &Store{limit: opts.HistoryLimit, log: opts.Logger, now: opts.Now, lost: opts.Lost}
	var err error
	if s.entries, err = lru.New[*entry](opts.CacheBytes); err != nil {
		return nil, err
	}
	if s.indexes, err = lru.New[*index](indexCacheBytes); err != nil {
		return nil, err
	}
	for i := range s.shards {
		s.shards[i] = make(chan struct{}, 1)
	}
	if s.bucket, err = openBucket(ctx, js, bucket); err != nil {
		return nil, fmt.Errorf("session bucket %s: %w", bucket.Bucket, err)
	}
	return s, nil
}

// lock keeps other goroutines of this process from a session: the
// compare-and-set would do so too, at the price of a round trip.
func (s *Store) lock(ctx context.Context, token string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(token))
	shard := s.shards[hash.Sum32()%shardCount]
	select {
	case shard <- struct{}{}:
		return func() { <-shard }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
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
		if isAway(err) {
			err = awayError{err}
		}
		return fmt.Errorf("apply to session %s: %w", token, err)
	}
	return nil
}

// locked applies facts with the session locked. It says whether the session
// was lost before that, also after an error.
func (s *Store) locked(ctx context.Context, token string, facts []store.Fact) (lost bool, err error) {
	unlock, err := s.lock(ctx, token)
	if err != nil {
		return false, err
	}
	defer unlock()
	e, _ := s.entries.Get(token)
	// What is in memory runs ahead of the bucket until it is written.
	s.entries.Remove(token)
	if e != nil && !e.written && len(e.leaving) > 0 {
		// To be read again: the session may have been removed since, or the
		// bucket lost, and the leaving turns with it.
		e.at = record{}
	}
	if e == nil && beginsSession(facts) && time.Now().UnixNano() >= s.look.Load() {
		e = &entry{doc: &store.Document{}, at: record{key: token}, guess: true}
	}
	for attempt := 1; ; attempt++ {
		if e == nil || e.at.revision == 0 && !e.guess {
			var gone bool
			e, gone, err = s.load(ctx, token, e)
			lost = lost || gone
		}
		if err == nil {
			var gone bool
			gone, err = s.apply(ctx, token, e, facts)
			lost = lost || gone
		}
		if err == nil {
			s.entries.Put(token, e, int64(e.bytes+e.doc.DecodedBytes())+2<<10)
			return lost, nil
		}
		if !errors.Is(err, errConflict) || attempt == maxAttempts {
			return lost, err
		}
		if e != nil {
			if e.guess {
				s.look.Store(time.Now().Add(lookTime).UnixNano())
			}
			e.at, e.guess = record{}, false
		}
		if err = pause(ctx, attempt); err != nil {
			return lost, err
		}
	}
}

// beginsSession says whether a session most likely begins with these facts: to
// look first whether it is there would be a round trip for nothing.
func beginsSession(facts []store.Fact) bool {
	return slices.ContainsFunc(facts, func(f store.Fact) bool {
		return f.Begin != nil && len(f.Begin.Conversation) == 0
	})
}

// pause waits before a change is tried again: not at all at first, when the
// other process is most likely done, then longer every time and for a time left
// to chance, so that one of two is ahead next time.
func pause(ctx context.Context, attempt int) error {
	if attempt == 1 {
		return ctx.Err()
	}
	most := min(time.Millisecond<<min(attempt-2, 16), longPause)
	select {
	case <-time.After(rand.N(most)): //nolint:gosec // jitter
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load reads a session from the bucket. What is at hand of an earlier state,
// or nil, makes that cheap. A value that is none is set aside.
func (s *Store) load(ctx context.Context, token string, earlier *entry) (e *entry, lost bool, err error) {
	at, err := s.bucket.read(ctx, token)
	var h head
	doc := &store.Document{}
	// What takes the place of a value that is none. There may be retired turns
	// of the session.
	instead := empty()
	instead.Archived = true
	switch {
	case err != nil:
	case at.data == nil:
		if at.revision > 0 {
			// Deleted by other hands: nothing here leaves a marker.
			lost, h = true, instead
			err = s.MarkLost(ctx, token)
		}
	default:
		if h, err = decodeHead(at.data); err == nil {
			var known *store.Document
			if earlier != nil {
				known = earlier.doc
			}
			var whole *store.Document
			if whole, err = store.Redecode(h.state, known); err == nil {
				doc, instead.state = whole, h.state
				instead.leaving, err = readable(h.leaving)
			}
		}
	}
	if errors.Is(err, store.ErrCorrupt) {
		if at, err = s.setAside(ctx, at, instead, err); err == nil {
			lost, h = true, instead
		}
	}
	if err != nil {
		return nil, lost, err
	}
	e = &entry{doc: doc, at: at, bytes: len(at.data), archived: h.Archived, leaving: h.leaving}
	e.at.data = nil
	return e, lost, nil
}

// readable returns the turns that can be read, and an error when there are
// others.
func readable(turns []json.RawMessage) (out []json.RawMessage, err error) {
	for _, raw := range turns {
		if _, failure := store.DecodeTurn(raw); failure != nil {
			err = failure
			continue
		}
		out = append(out, raw)
	}
	return out, err
}

// setAside keeps a value that is none under another key and puts what can be
// read of the session in its place. Of several processes one succeeds.
func (s *Store) setAside(ctx context.Context, at record, instead head, reason error) (record, error) {
	aside, err := s.keepAside(ctx, at.key, at)
	if err != nil {
		return record{}, err
	}
	// The chunks of the old value stay: they belong to the one set aside.
	at, err = s.writeHead(ctx, record{key: at.key, revision: at.revision}, instead)
	if err != nil {
		return record{}, err
	}
	s.log.WarnContext(ctx, "session is corrupt, setting it aside", "session", at.key, "as", aside, "error", reason)
	return at, nil
}

// keepAside keeps the value of a key under another one, and notes that its
// session lacks events.
func (s *Store) keepAside(ctx context.Context, token string, at record) (aside string, err error) {
	m, err := s.bucket.get(ctx, at.key)
	if err != nil {
		return "", err
	}
	if m.revision != at.revision {
		return "", errConflict
	}
	aside = fmt.Sprintf("%s%s%d", at.key, asideKey, s.now().UnixMilli())
	if _, err := s.bucket.put(ctx, aside, m.value, 0); err != nil && !errors.Is(err, errConflict) {
		return "", err
	}
	return aside, s.MarkLost(ctx, token)
}

// setTurnAside does so with a retired turn that cannot be read. What takes its
// place is a marker: the key keeps a revision, which tells a process that is
// late not to put there what it has.
func (s *Store) setTurnAside(ctx context.Context, token string, at record, reason error) error {
	aside, err := s.keepAside(ctx, token, at)
	if err != nil {
		return err
	}
	if err := s.bucket.remove(ctx, at.key, at.revision); err != nil {
		return err
	}
	s.log.WarnContext(ctx, "retired turn is corrupt, setting it aside", "session", token, "as", aside, "error", reason)
	return nil
}

func (s *Store) writeEmpty(ctx context.Context, over record) (record, error) {
	return s.writeHead(ctx, over, empty())
}

func (s *Store) writeHead(ctx context.Context, over record, h head) (record, error) {
	data, err := h.append(nil, func(buf []byte) ([]byte, error) { return append(buf, h.state...), nil })
	if err != nil {
		return record{}, err
	}
	return s.bucket.write(ctx, over, data)
}

// apply folds facts into a session and writes it. After an error the entry is
// of no more use than to read the session again. lost says that a retired turn
// could not be read, also after an error.
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

// buffers are reused: a long session is a large value.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// write writes the session of an entry over the one that it was made of.
func (s *Store) write(ctx context.Context, e *entry, leaving []json.RawMessage) error {
	h := head{Format: format, Archived: e.archived || len(e.leaving) > 0, leaving: leaving}
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	data, err := h.append((*buf)[:0], e.doc.AppendState)
	if err != nil {
		return err
	}
	*buf = data
	if e.at, err = s.bucket.write(ctx, e.at, data); err != nil {
		return err
	}
	e.bytes, e.archived, e.leaving, e.written, e.guess = len(data), h.Archived, leaving, false, false
	return nil
}

// writeLeaving writes the leaving turns under their own keys.
func (s *Store) writeLeaving(ctx context.Context, token string, e *entry) error {
	if e.written {
		return nil
	}
	for _, raw := range e.leaving {
		turn, err := store.DecodeTurn(raw)
		if err != nil {
			return err
		}
		if err := s.retire(ctx, token+turnKey+subjects.Name(turn.RunID), raw, e.at.revision); err != nil {
			return err
		}
	}
	e.written = true
	return nil
}

// retire writes a turn that was seen leaving at a revision of its session,
// unless somebody has done so since.
func (s *Store) retire(ctx context.Context, key string, raw []byte, seen uint64) error {
	over := record{key: key} // most turns are retired once
	for attempt := 1; ; attempt++ {
		_, err := s.bucket.write(ctx, over, raw)
		if !errors.Is(err, errConflict) || attempt == maxAttempts {
			return err
		}
		m, err := s.bucket.get(ctx, key)
		if err != nil {
			return err
		}
		if m.revision > seen {
			return nil
		}
		over.revision, over.chunks = m.revision, chunksOf(m.value)
	}
}

// probeKey is no session's: it has two tokens.
const probeKey = "_.probe"

// Check says whether sessions can be written now; a bucket that has vanished
// is created again. When an Apply fails and Check does not, the fault is that
// session's alone.
func (s *Store) Check(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if _, err := s.bucket.find(bounded); err != nil {
		return fmt.Errorf("session bucket: %w", err)
	}
	m, err := s.bucket.get(bounded, probeKey)
	if err != nil {
		return fmt.Errorf("read the session bucket: %w", err)
	}
	_, err = s.bucket.put(bounded, probeKey, []byte("probe"), m.revision)
	if err != nil && !errors.Is(err, errConflict) { // a conflict is another process's probe
		return fmt.Errorf("write the session bucket: %w", err)
	}
	return nil
}
