package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

var (
	// ErrNotFound reports a session that is not in the store.
	ErrNotFound = errors.New("no such session")
	// ErrCorrupt reports data that is not a session document (not JSON, or of
	// another shape).
	ErrCorrupt = errors.New("corrupt session document")
	// ErrNoSession reports a fact with neither a session id nor a session key;
	// such facts are not tracked (contract §8).
	ErrNoSession = errors.New("fact names no session")
	// ErrNoSource reports a store that is new, or has lost its content.
	ErrNoSource = errors.New("sessions without a source")
	// ErrMixedSessions reports facts of several sessions in one Apply.
	ErrMixedSessions = errors.New("facts of several sessions")
)

// Temporary marks an error that the facts did not cause: a disk is full, a
// server is away. The returned error has the method Temporary() bool.
func Temporary(err error) error { return temporary{err} }

type temporary struct{ error }

func (t temporary) Unwrap() error { return t.error }

func (temporary) Temporary() bool { return true }

// Store keeps sessions. Package storetest tests every backend. A Store is safe
// for concurrent use, and several processes may share its storage.
type Store interface {
	Applier
	Reader
	Rebuilder
	Losses
	Sweeper
	Remover
}

// Applier folds facts into the stored sessions.
type Applier interface {
	// Apply folds facts of one session. When it returns nil they are stored. It
	// is idempotent: after an error the whole Apply is retried. Errors that the
	// facts did not cause are marked by [Temporary].
	Apply(ctx context.Context, facts []Fact) error
	// Check reports why nothing can be applied at present. If Apply fails and
	// Check does not, the fault is limited to that session.
	Check(ctx context.Context) error
}

// Reader reads the stored sessions.
type Reader interface {
	// Get returns the session document, one JSON object as in contract §8, of a
	// session id, session key or token. The error for an unknown session is
	// [ErrNotFound].
	Get(ctx context.Context, session string) (json.RawMessage, error)
	// List returns all sessions, the most recently changed first. Unreadable
	// ones are logged and left out.
	List(ctx context.Context) ([]Summary, error)
	// Count returns the number of sessions, including those without a turn, which
	// List leaves out. It reads the name of every session but not its content.
	Count(ctx context.Context) (int, error)
	// Retired returns the turns that left the document of a session, oldest
	// first, each as JSON; none for an unknown session. Unreadable ones are
	// logged and left out.
	Retired(ctx context.Context, session string) ([]json.RawMessage, error)
	// Source returns the stream that all sessions were made from; the zero
	// Source for a new store.
	Source(ctx context.Context) (Source, error)
}

// Rebuilder rebuilds a store from the event stream.
type Rebuilder interface {
	// Rebuilding starts a rebuild. ok is false while another process rebuilds
	// the store, unless the backend allows concurrent rebuilds.
	Rebuilding(ctx context.Context) (r Rebuild, ok bool, err error)
	// SetSource replaces the source of a store that has one. The error for a store
	// without one, which has lost its content, is [ErrNoSource].
	SetSource(ctx context.Context, source Source) error
}

// Losses tracks the sessions to rebuild one by one.
type Losses interface {
	// MarkLost records that a session lacks events. Call it before anything
	// that relies on their redelivery: the process may die at any moment.
	MarkLost(ctx context.Context, token string) error
	// Lost returns the sessions to rebuild.
	Lost(ctx context.Context) ([]Loss, error)
	// Recovered records that a lost session was rebuilt.
	Recovered(ctx context.Context, loss Loss) error
}

// Sweeper removes old sessions.
type Sweeper interface {
	// Sweep removes the sessions that were unchanged for longer than olderThan,
	// with their retired turns, and corrupt data set aside that long ago; an
	// olderThan of 0 keeps all sessions. Leftovers of dead processes are always
	// removed. It returns the number of sessions removed.
	Sweep(ctx context.Context, olderThan time.Duration) (removed int, err error)
}

// Remover forgets sessions.
type Remover interface {
	// Remove removes everything that is stored of the session with this token:
	// the document, retired turns, waiting facts, corrupt data set aside and
	// losses. It returns the names of the files or keys removed, none for an
	// unknown session. Facts applied later begin a new session; a request without an
	// answer ([Begin.Unanswered]) does not begin a removed run again, unless the error
	// is [ErrNotRecorded].
	Remove(ctx context.Context, token string) (removed []string, err error)
}

// Source is the event stream that sessions are made from. A store without one
// is new, or has lost its content.
type Source struct {
	Stream string `json:"stream"`
	// Created distinguishes a stream from an earlier one of the same name.
	Created time.Time `json:"created"`
	// Fold is the version of the fold ([FoldVersion]) that the sessions are complete for;
	// 0 is that of programs that did not record it.
	Fold int `json:"fold,omitempty"`
	// Through is the last sequence of the stream up to which no process of an older fold
	// has applied an event since the sessions were complete.
	Through uint64 `json:"through,omitempty"`
}

// Rebuild is a rebuild of the store from the stream by one process.
type Rebuild struct {
	// Finish records that the store contains everything applied from the
	// source. It fails if the store was lost since the rebuild began.
	Finish func(ctx context.Context, source Source) error
	// Release ends the rebuild.
	Release func()
}

// Loss is a session that lacks events which were applied to it. It stays in the
// store until the session is rebuilt.
type Loss struct {
	// Token is the session's token; Mark distinguishes its losses.
	Token, Mark string
}
