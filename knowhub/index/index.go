package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrDamaged reports a file that cannot be read. [Index.Close] then removes
	// it, so that the next [Open] creates a new one.
	ErrDamaged = errors.New("damaged index")
	// ErrBegunAgain reports that another process has begun the copy again since
	// [Index.Place] was called: the changes to apply may be incomplete.
	ErrBegunAgain = errors.New("index begun again by another process")
	// errOther reports a file of another version of this program.
	errOther = errors.New("index of another version")
	// errForeign and errNotRegular report a file or directory at the path of the
	// index that is not an index.
	errForeign    = errors.New("database of another program")
	errNotRegular = errors.New("not a regular file")
)

const (
	// busyTimeout is how long a writer waits for writers of other processes.
	busyTimeout = 5 * time.Second
	// openTimeout bounds how long [Open] waits for another process that is
	// opening, checking or creating the file.
	openTimeout = 30 * time.Second
	// cacheKiB bounds the page cache of a connection.
	cacheKiB = 8 << 10
	// pageSize is SQLite's default, in bytes.
	pageSize = 4096
	// walBytes is the size at which the write-ahead log is checkpointed into the
	// file, and the size that it is truncated to.
	walBytes = 8 << 20
	// maxReaders bounds the connections that read.
	maxReaders = 4
)

// Index is an open index. It is safe for concurrent use.
type Index struct {
	path        string
	log         *slog.Logger
	write, read *sql.DB
	writing     writing
	readers     chan *reader // nil is one that is not open yet
	closed      sync.Once    // of the readers
	cache       atomic.Pointer[cache]
	begun       atomic.Int64 // place.begun as last seen by this process
	damaged     atomic.Bool
}

// Open opens the index in the file at path, and creates it if it is missing. A
// damaged index, or one of another version, is rebuilt. A directory or the database of
// another program at path is renamed, and a new index is created. Both are logged.
// Errors are, for example, a directory that cannot be written, or a full disk.
func Open(ctx context.Context, path string, log *slog.Logger) (*Index, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("index of experiences: %w", err)
	}
	lock, err := lockFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("index of experiences: %w", err)
	}
	defer func() { _ = lock.Close() }()
	x, err := open(ctx, path, log)
	switch {
	case errors.Is(err, errForeign), errors.Is(err, errNotRegular):
		aside := fmt.Sprintf("%s.aside-%d", path, time.Now().UnixMilli())
		log.Warn("renaming a file or directory that is not an index of experiences", "file", path, "as", aside, "error", err)
		if moved := renameFiles(path, aside); moved != nil {
			return nil, fmt.Errorf("index of experiences: %w, and it cannot be renamed: %w", err, moved)
		}
		x, err = open(ctx, path, log)
	case err != nil && (isDamage(err) || errors.Is(err, errOther)):
		log.Warn("rebuilding index of experiences", "file", path, "error", err)
		if err = removeFiles(path); err == nil {
			x, err = open(ctx, path, log)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("index of experiences %s: %w", path, err)
	}
	return x, nil
}

// lockFile waits until no other process is opening or removing the file.
func lockFile(ctx context.Context, path string) (*flock.Flock, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return lock, nil
}

// suffixes are the endings of the names of a database's files. The database itself is
// the last one.
var suffixes = []string{"-wal", "-shm", "-journal", ""}

func renameFiles(path, to string) error {
	for _, suffix := range suffixes {
		if err := os.Rename(path+suffix, to+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func removeFiles(path string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func open(ctx context.Context, path string, log *slog.Logger) (_ *Index, err error) {
	if info, err := os.Stat(path); err == nil {
		switch {
		case !info.Mode().IsRegular():
			return nil, errNotRegular
		case info.Size()%pageSize != 0: // SQLite would read the missing bytes as zeros
			return nil, fmt.Errorf("%w: %d bytes, not a multiple of the page size", ErrDamaged, info.Size())
		}
	}
	// SQLite creates its other files with the mode of this file.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	x := &Index{path: path, log: log}
	defer func() {
		if err != nil {
			_ = x.close()
		}
	}()
	if x.write, err = sql.Open("sqlite", dataSource(path, false)); err != nil {
		return nil, err
	}
	x.write.SetMaxOpenConns(1)
	if err := check(ctx, x.write); err != nil {
		return nil, err
	}
	if err := migrate(ctx, x.write); err != nil {
		return nil, err
	}
	if x.read, err = sql.Open("sqlite", dataSource(path, true)); err != nil {
		return nil, err
	}
	x.readers = make(chan *reader, min(maxReaders, runtime.GOMAXPROCS(0)+1))
	for range cap(x.readers) {
		x.readers <- nil
	}
	err = x.reading(ctx, func(r *reader) error {
		return r.snapshot(func() error { return r.compare(ctx) })
	})
	if err == nil {
		err = x.writing.prepare(ctx, x.write)
	}
	if err != nil {
		var e *sqlite.Error
		if errors.As(err, &e) && e.Code() == sqlite3.SQLITE_ERROR { // a table is missing
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return nil, err
	}
	if _, _, err := x.Place(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// dataSource returns the data source name: the file, with the settings of every
// connection.
func dataSource(path string, read bool) string {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		fmt.Sprintf("page_size(%d)", pageSize),
		"journal_mode(wal)",
		"synchronous(normal)", // changes lost in a power cut are applied again from the bucket
		fmt.Sprintf("cache_size(-%d)", cacheKiB),
		fmt.Sprintf("wal_autocheckpoint(%d)", walBytes/pageSize),
		fmt.Sprintf("journal_size_limit(%d)", walBytes),
		"temp_store(memory)",
		"trusted_schema(off)",
	}}
	if read {
		q.Add("_pragma", "query_only(on)")
	} else {
		q.Set("_txlock", "immediate")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// check verifies the pages of the file.
func check(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, found)
	}
	return nil
}

// isDamage reports whether SQLite found the file to be damaged, or not a
// database.
func isDamage(err error) bool {
	if errors.Is(err, ErrDamaged) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA:
		return true
	}
	return e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ
}

// note remembers damage, and wraps it in [ErrDamaged].
func (x *Index) note(err error) error {
	if err == nil || !isDamage(err) {
		return err
	}
	x.damaged.Store(true)
	if errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Close closes the index. An index found to be damaged is removed.
func (x *Index) Close() error {
	if !x.damaged.Load() {
		return x.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	mine, statErr := os.Stat(x.path)
	lock, err := lockFile(ctx, x.path)
	if err != nil {
		return errors.Join(err, x.close())
	}
	defer func() { _ = lock.Close() }()
	err = x.close()
	if now, nowErr := os.Stat(x.path); statErr == nil && nowErr == nil && os.SameFile(mine, now) {
		x.log.Warn("damaged index of experiences removed", "file", x.path)
		err = errors.Join(err, removeFiles(x.path))
	}
	return err
}

func (x *Index) close() error {
	var errs []error
	if x.readers != nil {
		errs = append(errs, x.closeReaders())
	}
	if x.read != nil {
		errs = append(errs, x.read.Close())
	}
	if x.write != nil {
		errs = append(errs, x.write.Close())
	}
	return errors.Join(errs...)
}

// Place returns the bucket that the index is a copy of, "" for none, and the
// revision that it has reached.
func (x *Index) Place(ctx context.Context) (bucket string, revision uint64, err error) {
	p, err := readPlace(ctx, x.write)
	if err != nil {
		return "", 0, x.note(err)
	}
	x.begun.Store(p.begun)
	return p.bucket, p.revision, nil
}

// Reset empties the index. From now on it is a copy of bucket, at revision 0.
func (x *Index) Reset(ctx context.Context, bucket string) error {
	var begun int64
	err := x.change(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"experiences", "terms", "postings", "sets", "removed"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table); err != nil { //nolint:gosec // the names are above
				return err
			}
		}
		return tx.QueryRowContext(ctx, `UPDATE place SET bucket = ?, revision = 0, begun = begun + 1, held = 0, checksum = 0 RETURNING begun`, bucket).Scan(&begun)
	})
	if err == nil {
		x.begun.Store(begun)
	}
	return err
}

// change calls f in a write transaction.
func (x *Index) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := x.write.BeginTx(ctx, nil)
	if err != nil {
		return x.note(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return x.note(err)
	}
	return x.note(tx.Commit())
}
