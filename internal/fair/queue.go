// Package fair shares the processors among callers: one who asks for too much
// waits in a line of his own, and the others hardly notice.
package fair

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what waits.
const (
	// maxLine and maxLineBytes bound what one caller may have waiting. Of work
	// that takes a third of a millisecond that many take a third of a second.
	maxLine      = 1024
	maxLineBytes = 32 << 20
	// maxWaiting and maxWaitingBytes bound what all callers may.
	maxWaiting      = 8192
	maxWaitingBytes = 128 << 20
)

// Queue runs work of many callers, so much of it at once as there are places,
// the rest in turn: the first of each caller, then the second of each. Work
// that begins to wait for something else than a processor gives its place away
// ([Yield]), so that only what runs is counted.
//
// Turns alone do not help who asks for little beside one who asks for more than
// the machine can do: there is no processor that does not work for the other
// one. So while both ask, the other one is held back.
type Queue struct {
	pool *pool

	mu      sync.Mutex // guards what follows
	free    int        // places; while one is, what waits is held back
	lines   map[string]*line
	turn    []*line // in the order in which they are served, each with work
	waiting int
	bytes   int
	pace    pace
	alarm   *time.Timer // for what is held back; nil when it is not set
}

// line is what one caller has waiting, the oldest first.
type line struct {
	caller string
	work   []work
	bytes  int
}

type work struct {
	do   func(context.Context)
	ctx  context.Context //nolint:containedctx // the work's own
	size int
}

// New returns an empty queue with so many places.
func New(places int) *Queue {
	return &Queue{pool: newPool(), free: places, lines: make(map[string]*line), pace: newPace()}
}

// Came counts a request of a caller, whether it is for [Queue.Go] or not, and
// says whether the caller is held back.
func (q *Queue) Came(caller string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pace.came(caller, now)
}

// Go calls do on another goroutine, at once or when it is the caller's turn;
// false, and it does not, when too much is waiting already. size, in bytes, is
// what the work keeps in memory meanwhile. The context is for [Yield].
func (q *Queue) Go(ctx context.Context, caller string, size int, do func(context.Context)) bool {
	w := work{do: do, ctx: ctx, size: size}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[caller]
	if q.free > 0 && l == nil && q.pace.wait(caller, time.Now()) == 0 {
		q.free--
		q.start(w)
		return true
	}
	if q.waiting >= maxWaiting || q.waiting > 0 && q.bytes+size > maxWaitingBytes ||
		l != nil && (len(l.work) >= maxLine || l.bytes+size > maxLineBytes) {
		return false
	}
	if l == nil {
		l = &line{caller: caller}
		q.lines[caller] = l
		q.turn = append(q.turn, l)
	}
	l.work = append(l.work, w)
	l.bytes += size
	q.waiting++
	q.bytes += size
	q.serve()
	return true
}

// start runs work in a place that is its own until it yields or ends.
func (q *Queue) start(w work) {
	p := &place{queue: q}
	ctx := context.WithValue(w.ctx, placeKey{}, p)
	q.pool.run(func() {
		defer p.leave()
		w.do(ctx)
	})
}

// serve gives the places that are free to the callers whose turn it is. The
// lock is held.
func (q *Queue) serve() {
	for q.free > 0 && len(q.turn) > 0 {
		now := time.Now()
		var soonest time.Duration
		i := slices.IndexFunc(q.turn, func(l *line) bool {
			soonest = q.pace.wait(l.caller, now)
			return soonest == 0
		})
		if i < 0 {
			// All that wait are held back, together.
			if q.alarm == nil {
				q.alarm = time.AfterFunc(soonest, q.wake)
			}
			return
		}
		l := q.turn[i]
		q.turn = slices.Delete(q.turn, i, i+1)
		w := l.work[0]
		l.work[0] = work{}
		l.work = l.work[1:]
		l.bytes -= w.size
		q.waiting--
		q.bytes -= w.size
		if len(l.work) > 0 {
			q.turn = append(q.turn, l)
		} else {
			delete(q.lines, l.caller)
		}
		q.free--
		q.start(w)
	}
}

func (q *Queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarm = nil
	q.serve()
}

// place is what running work holds.
type place struct {
	queue *Queue
	left  atomic.Bool
}

type placeKey struct{}

func (p *place) leave() {
	if p.left.CompareAndSwap(false, true) {
		p.queue.left()
	}
}

// left takes a place back.
func (q *Queue) left() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	q.serve()
}

// Yield gives the place of the work that ctx is of to others: what comes now is
// waiting, or short. It does nothing the second time, and where there is no
// queue.
func Yield(ctx context.Context) {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		p.leave()
	}
}
