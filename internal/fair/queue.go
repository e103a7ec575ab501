// Package fair shares the processors among callers: one who asks for too much
// waits in a line of his own, and the others hardly notice.
package fair

import (
	"context"
	"sync"
	"sync/atomic"
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
type Queue struct {
	pool *pool

	mu      sync.Mutex // guards what follows
	free    int        // places; none is free while any work waits
	lines   map[string]*line
	turn    []*line // in the order in which they are served, each with work
	waiting int
	bytes   int
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
	return &Queue{pool: newPool(), free: places, lines: make(map[string]*line)}
}

// Go calls do on another goroutine, at once or when it is the caller's turn;
// false, and it does not, when too much is waiting already. size, in bytes, is
// what the work keeps in memory meanwhile. The context is for [Yield].
func (q *Queue) Go(ctx context.Context, caller string, size int, do func(context.Context)) bool {
	w := work{do: do, ctx: ctx, size: size}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		q.start(w)
		return true
	}
	l := q.lines[caller]
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

// next gives a place that was left to the caller whose turn it is.
func (q *Queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turn) == 0 {
		q.free++
		return
	}
	l := q.turn[0]
	q.turn = q.turn[1:]
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
	q.start(w)
}

// place is what running work holds.
type place struct {
	queue *Queue
	left  atomic.Bool
}

type placeKey struct{}

func (p *place) leave() {
	if p.left.CompareAndSwap(false, true) {
		p.queue.next()
	}
}

// Yield gives the place of the work that ctx is of to others: what comes now is
// waiting, or short. It does nothing the second time, and where there is no
// queue.
func Yield(ctx context.Context) {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		p.leave()
	}
}
