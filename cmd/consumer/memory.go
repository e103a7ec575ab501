package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A consumer stands beside other programs and should be small. What it has in
// use is a few tens of megabytes; what counts is how much of what is not in use
// any more the collector lets gather. GOGC and GOMEMLIMIT override all this.
const (
	// gcPercent is how much may gather, as a share of what is in use.
	gcPercent = 50
	// From a tick with busyRequests on, until there was none for busyTicks, it
	// is busyPercent: requests wait while the collector works, and what they
	// leave behind is given back to the system afterwards.
	busyRequests = 50
	busyTicks    = 4
	busyPercent  = 100
	// smallMemory is what the process keeps below while what is in use leaves
	// room for that, in bytes: near it the collector works more.
	smallMemory = 80 << 20
	// busyMemory is the least room beside what is in use while requests come.
	busyMemory = 96 << 20
	// thriftTick is how often that is looked at. Large messages in work need
	// room at once, and the collector's share of the processors is bounded.
	thriftTick = 500 * time.Millisecond
	// A process that allocates less than idleBytes in idleTicks rests: what a
	// burst of at least burstBytes has left behind goes back to the system.
	idleBytes  = 1 << 20
	idleTicks  = 4
	burstBytes = 32 << 20
)

// requestsCame counts the requests of this process.
var requestsCame atomic.Uint64

// beThrifty bounds the memory until stop is called.
func beThrifty() (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent := debug.SetGCPercent(gcPercent)
	limit := debug.SetMemoryLimit(smallMemory)
	rush := rush{came: requestsCame.Load()}
	quit := make(chan struct{})
	go func() {
		tick := time.NewTicker(thriftTick)
		defer tick.Stop()
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
		set := int64(smallMemory)
		var rest rest
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			metrics.Read(heap)
			began, ended := rush.tick(requestsCame.Load())
			switch {
			case began:
				debug.SetGCPercent(busyPercent)
			case ended:
				debug.SetGCPercent(gcPercent)
			}
			if want := memoryLimit(int64(heap[0].Value.Uint64()), rush.left > 0); want < set*7/8 || want > set { //nolint:gosec // no heap is that large
				set = want
				debug.SetMemoryLimit(set)
			}
			if rest.begins(heap[1].Value.Uint64()) || ended {
				debug.FreeOSMemory()
			}
		}
	}()
	return func() {
		close(quit)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit is what the process may take with so many bytes of heap in use: a
// fixed size as long as that leaves room beside what is in use, for a limit that
// is too near makes the collector run all the time.
func memoryLimit(live int64, busy bool) int64 {
	if busy {
		return live + live/2 + busyMemory
	}
	return max(smallMemory, live+live/8+12<<20)
}

// rush tells when many requests come.
type rush struct {
	came uint64
	left int // ticks
}

// tick is told how many requests ever came.
func (r *rush) tick(came uint64) (began, ended bool) {
	before := r.left
	if came-r.came >= busyRequests {
		r.left = busyTicks
	} else {
		r.left = max(0, r.left-1)
	}
	r.came = came
	return before == 0 && r.left > 0, before > 0 && r.left == 0
}

// rest tells when a process has come to rest after a burst of work.
type rest struct {
	tick    uint64 // what was allocated at the last tick, in bytes since the start
	trimmed uint64 // and when memory was last given back
	quiet   int    // ticks
}

// begins is told every tick how many bytes were ever allocated.
func (r *rest) begins(allocated uint64) bool {
	if allocated-r.tick > idleBytes/idleTicks {
		r.quiet = 0
	} else {
		r.quiet++
	}
	r.tick = allocated
	if r.quiet < idleTicks || allocated-r.trimmed < burstBytes {
		return false
	}
	r.trimmed = allocated
	return true
}
