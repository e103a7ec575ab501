package console

import (
	"context"
	"sync"
	"time"

	"intenthint/internal/events"
)

// waitingTime is how long a page waits for the counts of its tabs. They normally come
// within a few milliseconds; a page without them is better than a late one.
const waitingTime = 500 * time.Millisecond

// waiter is a page of a part on which something may wait for a person.
type waiter interface {
	// Waiting returns how many things wait.
	Waiting(ctx context.Context) (int, error)
}

// waiting returns how much waits for a person, by the path of the page. What cannot be
// counted in time is left out.
func (c *Console) waiting(ctx context.Context) map[string]int {
	ctx, cancel := context.WithTimeout(ctx, waitingTime)
	defer cancel()
	var (
		mu       sync.Mutex
		counting sync.WaitGroup
	)
	found := map[string]int{}
	count := func(path string, of func(context.Context) (int, error)) {
		counting.Go(func() {
			n, err := of(ctx)
			if err != nil {
				c.log.Debug("what waits not counted", "page", path, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[path] = n
		})
	}
	if source := c.source.Load(); source != nil {
		count(lettersPath, source.lettersWaiting)
	}
	for _, p := range c.pages {
		handler, _ := c.handlers.Load(p.Path)
		if w, ok := handler.(waiter); ok {
			count(p.Path, w.Waiting)
		}
	}
	counting.Wait()
	return found
}

// lettersWaiting returns the number of dead letters.
func (s *Source) lettersWaiting(ctx context.Context) (int, error) {
	queue, err := s.DeadLetters(ctx)
	if err != nil {
		return 0, err
	}
	return queue.Count(ctx, events.Selection{})
}
