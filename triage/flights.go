package triage

import (
	"context"
	"sync"
)

// flights are the decisions in progress, so that a message that is repeated
// meanwhile is decided once (singleflight). The zero value is ready for use.
//
// golang.org/x/sync/singleflight does not fit. The caller that decides must stay to
// the end, because its reply may be committed, while the others leave at their own
// deadlines: Do holds all of them, and DoChan does not tell who decides, and ends the
// process when a decision panics.
type flights struct {
	mu     sync.Mutex
	flying map[flightKey]*flight
}

type flightKey struct{ group, message string }

type flight struct {
	done chan struct{}
	out  outcome // set when done is closed
}

// share returns the result of decide to all concurrent callers with the same
// message. A caller whose ctx ends first gets failure.
func (fs *flights) share(ctx context.Context, m Message, decide, failure func() outcome) outcome {
	key := flightKey{m.Group, m.ID}
	fs.mu.Lock()
	if f, ok := fs.flying[key]; ok {
		fs.mu.Unlock()
		select {
		case <-f.done:
			out := f.out
			out.repeat = true
			return out
		case <-ctx.Done():
			return failure()
		}
	}
	f := &flight{done: make(chan struct{}), out: failure()}
	if fs.flying == nil {
		fs.flying = make(map[flightKey]*flight)
	}
	fs.flying[key] = f
	fs.mu.Unlock()
	defer func() { // also after a panic
		fs.mu.Lock()
		delete(fs.flying, key)
		fs.mu.Unlock()
		close(f.done)
	}()
	f.out = decide()
	return f.out
}
