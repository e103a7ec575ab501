package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// gcPercent is the value of GOGC: how much garbage may accumulate, as a
// percentage of the live heap. A fixed memory limit is no alternative: in a
// flood of requests the collector would take the processors away from the
// answers.
const gcPercent = 50

// limited is set once [LimitMemory] was called.
var limited atomic.Bool

// returnMemory returns the memory that training used to the operating system:
// several times the size of a model, and needed again only when the intents
// change. It takes a whole collection, which a process that ends soon does not
// need.
func returnMemory() {
	if limited.Load() {
		debug.FreeOSMemory()
	}
}

// LimitMemory is for a process that runs for long: it gives memory back once it
// has trained. It also collects garbage early, unless GOGC or GOMEMLIMIT is set.
func LimitMemory() {
	limited.Store(true)
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

const (
	// memoryLook is the interval at which the memory in use is looked at. What a burst
	// took goes back within three of them.
	memoryLook = 15 * time.Second
	// leastReturned is how much it must be: a collection of the heap costs some tenths of
	// a second of processor time.
	leastReturned = 32 << 20
)

// tide decides when memory goes back to the operating system after a burst.
type tide struct {
	low  uint64 // bytes in use after the last return
	last uint64 // at the last look
}

// look reports whether to return memory, of which so many bytes are in use: much more
// than after the last return (collections alone make it half more), and no longer
// growing.
func (t *tide) look(held uint64) bool {
	grows := held > t.last+t.last/10
	t.last = held
	if t.low == 0 || held < t.low {
		t.low = held
	}
	return !grows && held > t.low+max(t.low*3/4, leastReturned)
}

// returned is called after a return.
func (t *tide) returned(held uint64) { t.low, t.last = held, held }

// heldMemory returns how many bytes the process has of the operating system, as far as
// the runtime of Go knows.
func heldMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// returnBursts returns memory after bursts until ctx ends: the runtime of Go keeps it
// for minutes.
func returnBursts(ctx context.Context) {
	if !limited.Load() {
		return
	}
	var t tide
	every(ctx, memoryLook, func() bool {
		if t.look(heldMemory()) {
			debug.FreeOSMemory()
			t.returned(heldMemory())
		}
		return false
	})
}
