// Package workers keeps goroutines for the next piece of work: one that has
// served a request has a stack that is large enough for a request, which a new
// one must grow in several copies.
package workers

import "time"

// idleTime is how long a goroutine without work is kept.
const idleTime = 10 * time.Second

// Pool runs functions at once, each on a goroutine of its own, as the go
// statement does. There are never more goroutines than there was work at the
// same time. The zero value is not usable, see [New].
type Pool struct {
	idle chan func()
}

// New returns an empty pool.
func New() *Pool { return &Pool{idle: make(chan func())} }

// Go calls f on another goroutine and does not wait for it.
func (p *Pool) Go(f func()) {
	select {
	case p.idle <- f:
	default:
		go p.work(f)
	}
}

func (p *Pool) work(f func()) {
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
