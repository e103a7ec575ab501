package app

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much garbage may gather, as a share of what is in use. A
// fixed memory limit is no alternative: in a flood of requests the collector
// would take the processors from the answers.
const gcPercent = 50

// returnMemory gives back what training took: several times what a model holds, and
// needed again only when the intents change.
func returnMemory() { debug.FreeOSMemory() }

// LimitMemory keeps the process small, unless GOGC or GOMEMLIMIT is set.
func LimitMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
