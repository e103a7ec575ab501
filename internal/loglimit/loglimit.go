// Package loglimit logs events that strangers or gateways can cause as often as they
// like: of each kind one a minute, with the number of those that were left out.
package loglimit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// pause is the time between two lines of a kind.
const pause = time.Minute

// maxKinds bounds the kinds that are told apart: their names may come from outside.
const maxKinds = 256

// Limit limits lines by their kind, which is the message. The zero value is ready for
// use, and is safe for concurrent use. It must not be copied.
type Limit struct {
	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is what is known of the lines with one message.
type kind struct {
	next    time.Time // when the next line may be logged
	leftOut int       // lines since the last one that was logged
}

// Log logs a line, unless one of its kind was logged within the last minute. The line
// says as left_out how many were not logged since then.
func (l *Limit) Log(log *slog.Logger, level slog.Level, message string, args ...any) {
	leftOut, ok := l.Admit(message, time.Now())
	if !ok {
		return
	}
	log.Log(context.Background(), level, message, append(args, LeftOut(leftOut)...)...) //nolint:sloglint // the message is constant at the caller
}

// Warn is [Limit.Log] at level WARN.
func (l *Limit) Warn(log *slog.Logger, message string, args ...any) {
	l.Log(log, slog.LevelWarn, message, args...)
}

// Error is [Limit.Log] at level ERROR.
func (l *Limit) Error(log *slog.Logger, message string, args ...any) {
	l.Log(log, slog.LevelError, message, args...)
}

// LeftOut returns the attribute that says how many lines were left out, none for 0.
func LeftOut(n int) []any {
	if n == 0 {
		return nil
	}
	return []any{"left_out", n}
}

// Admit reports whether a line of a kind may be logged, and how many of its kind were
// left out before. It is for lines without a constant message.
func (l *Limit) Admit(message string, now time.Time) (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[message]
	if k == nil {
		if len(l.kinds) >= maxKinds {
			clear(l.kinds)
		}
		if l.kinds == nil {
			l.kinds = map[string]*kind{}
		}
		k = &kind{}
		l.kinds[message] = k
	}
	if now.Before(k.next) {
		k.leftOut++
		return 0, false
	}
	leftOut = k.leftOut
	k.next, k.leftOut = now.Add(pause), 0
	return leftOut, true
}
