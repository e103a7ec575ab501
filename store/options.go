package store

import (
	"log/slog"
	"time"
)

// defaultCacheBytes is the value of [Options.CacheBytes] when it is 0.
const defaultCacheBytes = 16 << 20

// Options configures a store of any backend.
type Options struct {
	// HistoryLimit is how many turns before the current one stay in a document
	// (HINT_HISTORY_LIMIT); a negative limit keeps all.
	HistoryLimit int
	// CacheBytes is roughly how much memory documents may take; 0 means 16 MiB.
	CacheBytes int64
	// Logger logs faults and repairs; nil discards them.
	Logger *slog.Logger
	// Lost is called, outside the session lock, with the token of a session that
	// now lacks events; nil disables it.
	Lost func(token string)
	// Now is the clock for retention; nil means [time.Now].
	Now func() time.Time
}

// WithDefaults returns the options with unset fields set to their defaults.
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
