package app

import (
	"os"
	"runtime/debug"
)

const (
	// gcPercent is how much garbage may gather, as a share of what is in use.
	gcPercent = 50
	// memoryLimit is where the collector works harder and gives memory back, in
	// bytes: twice what a process has in use after 30,000 events.
	memoryLimit = 96 << 20
)

// LimitMemory keeps the process small, unless GOGC or GOMEMLIMIT is set.
func LimitMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(memoryLimit)
	}
}
