package file

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"intenthint/store"
	"intenthint/store/file/internal/disk"
	"intenthint/store/internal/lru"
	"intenthint/subjects"
)

// Suffixes of the files of a session. Only session files end in .json.
const (
	sessionSuffix = ".json"
	historySuffix = ".history.jsonl"
	pendingSuffix = ".pending"
	corruptPrefix = ".corrupt-"
)

// Sizes of the caches, in bytes: little beside the rest of a process. What is not in
// them is read again.
const (
	outlineCacheBytes = 8 << 20
	indexCacheBytes   = 16 << 20
)

// Store is a [store.Store] of files. It is safe for concurrent use, including
// by several processes.
type Store struct {
	dir     string
	limit   int
	log     *slog.Logger
	now     func() time.Time
	lost    func(token string)
	shards  [shardCount]shard
	entries *lru.Cache[*entry]
	// outlines outlive the entries.
	outlines *lru.Cache[*outline]
	indexes  *lru.Cache[*index]
	// summaries are the summaries of the last list.
	summaries summaries
	disk      disk.Disk
	spares    disk.Spares
}

var _ store.Store = (*Store)(nil)

// Open opens the store in dir. It creates the directory (mode 0700) if it does
// not exist.
func Open(dir string, opts store.Options) (*Store, error) {
	s := open(dir, opts)
	if err := s.makeDirs(); err != nil {
		return nil, fmt.Errorf("opening session store: %w", err)
	}
	return s, nil
}

// OpenReader opens the store in dir to read it. It creates nothing: a directory that
// does not exist holds no sessions.
func OpenReader(dir string, opts store.Options) store.Reader { return open(dir, opts) }

func open(dir string, opts store.Options) *Store {
	opts = opts.WithDefaults()
	s := &Store{
		dir: dir, limit: opts.HistoryLimit, log: opts.Logger, now: opts.Now, lost: opts.Lost,
		entries:  lru.New[*entry](opts.CacheBytes),
		outlines: lru.New[*outline](outlineCacheBytes),
		indexes:  lru.New[*index](indexCacheBytes),
		disk:     disk.New(dir),
	}
	for i := range s.shards {
		s.shards[i] = newShard(filepath.Join(dir, lockDir, fmt.Sprintf("%02d", i)))
	}
	return s
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

func (s *Store) makeDirs() error {
	for _, dir := range []string{lockDir, tempDir, lostDir} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return fmt.Errorf("session directory (HINT_SESSIONS_DIR): %w", err)
		}
	}
	return nil
}

func (s *Store) path(token, suffix string) string {
	return filepath.Join(s.dir, token+suffix)
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
	if err == nil {
		return nil
	}
	err = fmt.Errorf("applying to session %s: %w", token, err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return store.Temporary(err)
	}
	return err
}

// locked applies facts with the session locked. It reports whether the
// session was found to be lost, also after an error.
func (s *Store) locked(ctx context.Context, token string, facts []store.Fact) (lost bool, err error) {
	unlock, err := s.lock(ctx, token)
	if err != nil {
		return false, err
	}
	defer unlock()
	written := false
	defer func() {
		if !written { // also after a panic: what is in memory is ahead of the files
			s.forget(token)
		}
	}()
	e, pending, err := s.load(ctx, token)
	if err == nil {
		facts, err = store.WithoutRemoved(token, facts, func() ([]string, error) { return s.removedRuns(token) })
	}
	if err == nil {
		err = s.apply(ctx, token, e, slices.Concat(pending, facts))
	}
	if e != nil {
		lost, e.lost = e.lost, false
	}
	written = err == nil
	if !s.shard(token).current() {
		// The directory has vanished meanwhile, and with it the lock file:
		// another process may have overwritten the session.
		s.forget(token)
		return true, errors.Join(err, s.MarkLost(ctx, token))
	}
	return lost, err
}

func (s *Store) apply(ctx context.Context, token string, e *entry, facts []store.Fact) error {
	archive := &archive{ctx: ctx, store: s, token: token}
	archive.oldest, _ = e.doc.Oldest()
	defer func() { e.lost = e.lost || archive.lost }()
	change, err := e.doc.Fold(facts, s.limit, archive)
	if err != nil {
		return err
	}
	// The order matters if the process dies in between: a retired turn is in
	// the archive before it leaves the session file, and a fact is in the
	// session file before it leaves the journal.
	if len(change.Retired) > 0 {
		if err := archive.append(change.Retired); err != nil {
			return err
		}
	}
	if change.Session && e.doc.Turns() > 0 {
		if err := s.write(token, e); err != nil {
			return err
		}
	}
	if change.Waiting {
		if err := s.keep(token, e); err != nil {
			return err
		}
	}
	s.entries.Put(token, e, e.bytes())
	return nil
}
