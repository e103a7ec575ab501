package app

import (
	"os"
	"runtime/debug"
)

// gcPercent is the value of GOGC: how much garbage may accumulate, as a
// percentage of the live heap. A fixed memory limit is no alternative: in a
// flood of requests the collector would take the processors away from the
// answers.
const gcPercent = 50

// returnMemory returns the memory that training used to the operating system:
// several times the size of a model, and needed again only when the intents
// change.
func returnMemory() { debug.FreeOSMemory() }

// LimitMemory keeps memory use low, unless GOGC or GOMEMLIMIT is set.
func LimitMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
