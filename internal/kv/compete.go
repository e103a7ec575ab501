package kv

import (
	"context"
	"hash/fnv"
	"time"

	"intenthint/internal/retry"
)

// ConflictRetry is how a change that lost to another process is tried again. In a
// burst all processes change the same keys, and each success makes the other
// attempts fail; each means that somebody made progress. A change takes about a
// millisecond, and replicas may be behind for some. In all it takes some two
// seconds.
var ConflictRetry = retry.Policy{
	Backoff:   retry.Backoff{First: time.Millisecond, Max: 16 * time.Millisecond},
	Attempts:  200,
	Temporary: IsConflict,
}

// Locks exclude the goroutines of this process from a key, so that they do not make
// each other's changes fail. Keys share the locks by their hash: there are as many as
// are written at once.
type Locks [64]chan struct{}

// NewLocks returns open locks.
func NewLocks() *Locks {
	var l Locks
	for i := range l {
		l[i] = make(chan struct{}, 1)
	}
	return &l
}

// Lock locks a key.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func(), err error) {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	return acquire(ctx, l[sum.Sum32()%uint32(len(l))])
}

// LockAll locks all keys.
func (l *Locks) LockAll(ctx context.Context) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, end := range held {
			end()
		}
	}
	for _, lock := range l {
		end, err := acquire(ctx, lock)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, end)
	}
	return unlock, nil
}

func acquire(ctx context.Context, lock chan struct{}) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
