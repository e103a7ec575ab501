package bus

import (
	"sync"
	"time"
)

// drops are the times at which a connection was lost. A server that is restarted closes
// it once; one whose max_pending is below a pull closes it at each pull, and says why in
// its own log alone.
type drops struct {
	mu    sync.Mutex
	times [3]time.Time // the last ones
	told  time.Time
}

const (
	// dropsTime is within which time the last drops make a pattern.
	dropsTime = time.Minute
	// toldTime is how often the pattern is logged.
	toldTime = 10 * time.Minute
)

// note notes a loss, and reports whether it is to be logged that there are many.
func (d *drops) note(now time.Time) (many bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	copy(d.times[:], d.times[1:])
	d.times[len(d.times)-1] = now
	if now.Sub(d.times[0]) > dropsTime || !d.told.IsZero() && now.Sub(d.told) < toldTime {
		return false
	}
	d.told = now
	return true
}
