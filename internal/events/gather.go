package events

import (
	"container/heap"
	"time"
)

// Times of gathering. A session shows an event well within the second that
// contract §8 allows, and one that is written often
// rests between the writes.
const (
	// beat: sessions are written when it strikes, so that those whose time has
	// come since the last beat share the processors' wake-ups and the disk's
	// syncs.
	beat = 20 * time.Millisecond
	// gatherTime is how long the first event of a quiet session waits for
	// others at least, so that they cost one write together.
	gatherTime = beat / 2
	// minRest and maxRest bound the time between two writes of one session.
	minRest = 100 * time.Millisecond
	maxRest = 500 * time.Millisecond
)

// rest is how long a session rests after a write, by the time that took: it
// keeps a hundredth of a processor busy at the most, so that the cost of a long
// session does not grow with the rate of its events.
func rest(took time.Duration) time.Duration {
	return min(max(100*took, minRest), maxRest)
}

// gatherer collects what belongs to one session until it is applied. It takes
// no clock: every method is told the time. It is not safe for concurrent use.
type gatherer[E any] struct {
	start    time.Time // of the first beat
	rest     func(took time.Duration) time.Duration
	sessions map[string]*gathered[E]
	due      dueQueue[E]
}

// gathered is what one session has.
type gathered[E any] struct {
	session string
	items   []E
	// working are the items that next gave away.
	working []E
	at      time.Time // when it is to be applied, or its rest ends
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

// next gives the items of a session whose time has come, which belongs to the
// caller until it calls finished; nil when there is none.
func (g *gatherer[E]) next(now time.Time) *gathered[E] {
	for len(g.due) > 0 && !g.due[0].at.After(now) {
		s, _ := heap.Pop(&g.due).(*gathered[E])
		if len(s.items) == 0 {
			delete(g.sessions, s.session) // rested, and nothing came
			continue
		}
		s.working, s.items = s.items, nil
		return s
	}
	return nil
}

// finished ends the work on what next gave, which took a while; the session
// rests then.
func (g *gatherer[E]) finished(s *gathered[E], took time.Duration, now time.Time) {
	s.working = nil
	s.at = g.onBeat(now.Add(g.rest(took)))
	heap.Push(&g.due, s)
}

// wait is how long until the time of some session has come; false when none
// waits.
func (g *gatherer[E]) wait(now time.Time) (time.Duration, bool) {
	if len(g.due) == 0 {
		return 0, false
	}
	return g.due[0].at.Sub(now), true
}

// hurry makes it everybody's time who is not in work.
func (g *gatherer[E]) hurry(now time.Time) {
	for _, s := range g.due {
		s.at = now
	}
}

// each calls do with every item that was added and is not finished.
func (g *gatherer[E]) each(do func(E)) {
	for _, s := range g.sessions {
		for _, item := range s.working {
			do(item)
		}
		for _, item := range s.items {
			do(item)
		}
	}
}

// dueQueue is a heap, the session whose time comes first on top.
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
