package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

var (
	// ErrNotFound reports a session that the store does not have.
	ErrNotFound = errors.New("no such session")
	// ErrCorrupt reports a document that is not one (not JSON, or of another
	// shape).
	ErrCorrupt = errors.New("corrupt session document")
	// ErrNoSession reports a fact with neither a session id nor a session key;
	// such facts are not tracked (contract §8).
	ErrNoSession = errors.New("fact names no session")
	// ErrMixedSessions reports facts of several sessions in one Apply.
	ErrMixedSessions = errors.New("facts of several sessions")
)

// Temporary marks an error as no fault of the facts: a disk is full, a server is
// away. The error it returns has the method Temporary() bool.
func Temporary(err error) error { return temporary{err} }

type temporary struct{ error }

func (t temporary) Unwrap() error { return t.error }

func (temporary) Temporary() bool { return true }

// Store keeps sessions. Package storetest holds every backend to it. A Store is
// safe for concurrent use, and several processes may share what it keeps.
type Store interface {
	Applier
	Reader
	Rebuilder
	Losses
	Sweeper
}

// Applier folds facts into the stored sessions.
type Applier interface {
	// Apply folds facts of one session. When it returns nil they are stored;
	// facts that were applied before change nothing, so that a failed Apply is
	// repeated as a whole. An error that is no fault of the facts is marked by
	// [Temporary].
	Apply(ctx context.Context, facts []Fact) error
	// Check reports why nothing can be applied at present. When an Apply fails
	// and Check does not, the fault is that session's alone.
	Check(ctx context.Context) error
}

// Reader shows the stored sessions.
type Reader interface {
	// Get returns the session document, one JSON object as in contract §8, of
	// a session id, session key or token. A session that is not there is
	// [ErrNotFound].
	Get(ctx context.Context, session string) (json.RawMessage, error)
	// List returns all sessions, the one that changed last first. Those that
	// cannot be read are logged and left out.
	List(ctx context.Context) ([]Summary, error)
	// Retired returns the turns that left the document of a session, oldest
	// first, each as JSON; none for an unknown session. Those that cannot be
	// read are logged and left out.
	Retired(ctx context.Context, session string) ([]json.RawMessage, error)
}

// Rebuilder rebuilds a store from the event stream.
type Rebuilder interface {
	// Source returns the stream that all sessions are known to be made from;
	// the zero Source for a new store.
	Source(ctx context.Context) (Source, error)
	// Rebuilding starts a rebuild. It is not ok while another process rebuilds
	// the store, unless the backend allows several at once.
	Rebuilding(ctx context.Context) (r Rebuild, ok bool, err error)
}

// Losses tracks the sessions to rebuild one by one.
type Losses interface {
	// MarkLost records that a session lacks events, before anything that
	// depends on their being applied again: the process may die at any moment.
	MarkLost(ctx context.Context, token string) error
	// Lost returns the sessions to rebuild.
	Lost(ctx context.Context) ([]Loss, error)
	// Recovered records that a lost session was rebuilt.
	Recovered(ctx context.Context, loss Loss) error
}

// Sweeper removes old sessions.
type Sweeper interface {
	// Sweep removes the sessions that were untouched for longer than olderThan,
	// with their retired turns, and what was set aside that long ago; an
	// olderThan of 0 keeps all. Leftovers of dead processes go in any case. It
	// returns the number of sessions removed.
	Sweep(ctx context.Context, olderThan time.Duration) (removed int, err error)
}

// Source is the event stream that sessions are made of. A store that knows none
// is new, or has lost what it held.
type Source struct {
	Stream string `json:"stream"`
	// Created tells a stream from one of the same name that was there before.
	Created time.Time `json:"created"`
}

// Rebuild is the turn of one process to make a store again from the stream.
type Rebuild struct {
	// Finish notes that the store contains all that was applied of the source.
	// It fails when the store was lost since the rebuild began.
	Finish func(ctx context.Context, source Source) error
	// Release ends the turn.
	Release func()
}

// Loss is a session that lacks events which were applied to it. It stands in
// the store until the session has been made again.
type Loss struct {
	// Token is the session's; Mark tells its losses apart.
	Token, Mark string
}
