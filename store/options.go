package store

import (
	"log/slog"
	"time"
)

// defaultCacheBytes is [Options.CacheBytes] when it is 0.
const defaultCacheBytes = 16 << 20

// Options of a store, whatever it keeps sessions in.
type Options struct {
	// HistoryLimit is how many turns before the current one stay in a document
	// (HINT_HISTORY_LIMIT); negative keeps all.
	HistoryLimit int
	// CacheBytes is about how much of the documents is kept in memory; 0 means
	// 16 MiB.
	CacheBytes int64
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
	// Lost is called with the token of a session that lacks events from now on,
	// while the session is not locked; nil for no call.
	Lost func(token string)
	// Now is the clock of retention; nil means [time.Now].
	Now func() time.Time
}

// WithDefaults puts the defaults in the places of what is not set.
func (o Options) WithDefaults() Options {
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Lost == nil {
		o.Lost = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
