package app

import (
	"os"
	"runtime/debug"
	"sync/atomic"
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
