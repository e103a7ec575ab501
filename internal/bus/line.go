package bus

import (
	"runtime"
	"sync"
	"time"
)

// line is the order in which the requests of an endpoint begin: at once while there is
// room, else one of each caller in turn. So a caller with hundreds of requests in flight
// delays another one by a few of them, not by all. More than one for each processor would
// only wait for each other.
type line struct {
	room  int
	start func(answer func()) // on another goroutine

	mu      sync.Mutex // guards what follows
	serving map[*served]struct{}
	taken   int                 // room, by those serving that did not overstay
	waiting map[string][]func() // by caller, in the order in which they came
	turn    []string            // the callers that wait, the next one first
	looking bool                // a look is due
}

// served is a request that has begun.
type served struct {
	began time.Time
	// overstayed is set once it no longer takes room: it waits for something, a model for
	// example.
	overstayed bool
}

// stayTime is how long a request takes room: three times what an answer takes that waits
// for nothing.
const stayTime = time.Millisecond

// leastRoom is for a single processor, which would be idle while a request waits for
// NATS.
const leastRoom = 2

func newLine(start func(func())) *line {
	return &line{
		room: max(runtime.GOMAXPROCS(0), leastRoom), start: start,
		serving: map[*served]struct{}{}, waiting: map[string][]func(){},
	}
}

// serve calls answer on another goroutine, when it is the caller's turn.
func (l *line) serve(caller string, answer func()) {
	l.mu.Lock()
	if l.taken >= l.room {
		l.wait(caller, answer)
		l.mu.Unlock()
		return
	}
	begin := l.admit(answer)
	l.mu.Unlock()
	l.start(begin)
}

// wait lets a request wait. mu is held.
func (l *line) wait(caller string, answer func()) {
	if len(l.waiting[caller]) == 0 {
		l.turn = append(l.turn, caller)
	}
	l.waiting[caller] = append(l.waiting[caller], answer)
	if !l.looking {
		l.looking = true
		time.AfterFunc(stayTime, l.look)
	}
}

// admit gives a request room, and returns what begins it. mu is held.
func (l *line) admit(answer func()) (begin func()) {
	s := &served{began: time.Now()}
	l.serving[s] = struct{}{}
	l.taken++
	return func() {
		defer l.leave(s)
		answer()
	}
}

// next admits those that there is room for. mu is held.
func (l *line) next() (begin []func()) {
	for l.taken < l.room && len(l.turn) > 0 {
		caller := l.turn[0]
		l.turn = l.turn[1:]
		own := l.waiting[caller]
		begin = append(begin, l.admit(own[0]))
		if own[0] = nil; len(own) > 1 {
			l.waiting[caller], l.turn = own[1:], append(l.turn, caller)
		} else {
			delete(l.waiting, caller)
		}
	}
	return begin
}

func (l *line) leave(s *served) {
	l.mu.Lock()
	delete(l.serving, s)
	if !s.overstayed {
		l.taken--
	}
	begin := l.next()
	l.mu.Unlock()
	for _, b := range begin {
		l.start(b)
	}
}

// look takes the room of those that overstayed, while others wait.
func (l *line) look() {
	l.mu.Lock()
	for s := range l.serving {
		if !s.overstayed && time.Since(s.began) >= stayTime {
			s.overstayed = true
			l.taken--
		}
	}
	begin := l.next()
	if l.looking = len(l.turn) > 0; l.looking {
		time.AfterFunc(stayTime, l.look)
	}
	l.mu.Unlock()
	for _, b := range begin {
		l.start(b)
	}
}
