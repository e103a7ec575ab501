package fair

import "time"

// idleTime is how long a goroutine without work is kept.
const idleTime = 10 * time.Second

// pool runs functions at once, each on a goroutine of its own, as the go
// statement does, and keeps goroutines for the next piece of work: one that has
// served a request has a stack that is large enough for a request, which a new
// one must grow in several copies. There are never more of them than there was
// work at the same time. The zero value is not usable, see [newPool].
type pool struct {
	idle chan func()
}

func newPool() *pool { return &pool{idle: make(chan func())} }

// run calls f on another goroutine and does not wait for it.
func (p *pool) run(f func()) {
	select {
	case p.idle <- f:
	default:
		go p.work(f)
	}
}

func (p *pool) work(f func()) {
	patience := time.NewTimer(idleTime)
	defer patience.Stop()
	for {
		f()
		patience.Reset(idleTime)
		select {
		case f = <-p.idle:
		case <-patience.C:
			return
		}
	}
}
