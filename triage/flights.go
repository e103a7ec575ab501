package triage

import (
	"context"
	"sync"
)

// flights are the messages that are being decided about, so that a message that is
// repeated meanwhile is decided about once. The zero value is ready for use.
type flights struct {
	mu     sync.Mutex
	flying map[flightKey]*flight
}

type flightKey struct{ group, message string }

type flight struct {
	done chan struct{}
	out  outcome // set when done is closed
}

// share returns what decide returns, for all who ask about the same message at the
// same time. The failure is for those whose ctx ends before.
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
