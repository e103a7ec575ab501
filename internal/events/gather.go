package events

import (
	"container/heap"
	"slices"
	"time"
)

// Times of gathering. A session shows an event well within the second that
// contract §8 allows.
const (
	// beat is the interval at which sessions are written, so that they share
	// wake-ups and disk syncs.
	beat = 20 * time.Millisecond
	// gatherTime is how long the first event of a quiet session waits at least, so
	// that events that follow share its write.
	gatherTime = beat / 2
	// minRest and maxRest bound the time between two writes of one session.
	minRest = 100 * time.Millisecond
	maxRest = 500 * time.Millisecond
)

// rest is how long a session rests after a write, so that it keeps at most a
// hundredth of a processor busy whatever its event rate.
func rest(took time.Duration) time.Duration {
	return min(max(100*took, minRest), maxRest)
}

// gatherer collects the items of each session until they are applied. It is not
// safe for concurrent use.
type gatherer[E any] struct {
	start    time.Time // of the first beat
	rest     func(took time.Duration) time.Duration
	sessions map[string]*gathered[E]
	due      dueQueue[E]
}

// gathered is a session.
type gathered[E any] struct {
	session string
	items   []E
	working []E       // being applied
	at      time.Time // when items are due, or the rest ends
}

func newGatherer[E any](now time.Time, rest func(took time.Duration) time.Duration) *gatherer[E] {
	return &gatherer[E]{start: now, rest: rest, sessions: make(map[string]*gathered[E])}
}

// onBeat returns the first beat that is not before t.
func (g *gatherer[E]) onBeat(t time.Time) time.Time {
	return g.start.Add((t.Sub(g.start) + beat - 1).Truncate(beat))
}

// add takes an item of a session.
func (g *gatherer[E]) add(session string, item E, now time.Time) {
	s := g.sessions[session]
	if s == nil {
		s = &gathered[E]{session: session, at: g.onBeat(now.Add(gatherTime))}
		g.sessions[session] = s
		heap.Push(&g.due, s)
	}
	s.items = append(s.items, item)
}

// next returns the session that has been due for longest, or nil. With hurry it
// also returns one that is not due yet. The session belongs to the caller until
// finished is called.
func (g *gatherer[E]) next(now time.Time, hurry bool) *gathered[E] {
	for len(g.due) > 0 && (hurry || !g.due[0].at.After(now)) {
		s, _ := heap.Pop(&g.due).(*gathered[E])
		if len(s.items) == 0 {
			delete(g.sessions, s.session) // quiet
			continue
		}
		s.working, s.items = s.items, nil
		return s
	}
	return nil
}

// finished ends the work on a session, which then rests.
func (g *gatherer[E]) finished(s *gathered[E], took time.Duration, now time.Time) {
	s.working = nil
	s.at = g.onBeat(now.Add(g.rest(took)))
	heap.Push(&g.due, s)
}

// wait returns the time until a session is due; false if none is waiting.
func (g *gatherer[E]) wait(now time.Time) (time.Duration, bool) {
	if len(g.due) == 0 {
		return 0, false
	}
	return g.due[0].at.Sub(now), true
}

// each calls do with every item that is not finished.
func (g *gatherer[E]) each(do func(E)) {
	for _, s := range g.sessions {
		for _, item := range slices.Concat(s.working, s.items) {
			do(item)
		}
	}
}

// dueQueue is a heap of sessions by time.
type dueQueue[E any] []*gathered[E]

func (q dueQueue[E]) Len() int           { return len(q) }
func (q dueQueue[E]) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q dueQueue[E]) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements [heap.Interface].
func (q *dueQueue[E]) Push(x any) {
	if s, ok := x.(*gathered[E]); ok {
		*q = append(*q, s)
	}
}

// Pop implements [heap.Interface].
func (q *dueQueue[E]) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return s
}
