package bus

import (
	"strings"
	"sync"
)

// Bound limits the requests of an endpoint in progress. Requests beyond it are
// answered as overloaded at once.
type Bound struct {
	// Requests and Bytes are for all callers together.
	Requests, Bytes int
	// PerCaller and PerCallerBytes are for one connection, so that one gateway
	// cannot take the whole limit.
	PerCaller, PerCallerBytes int
}

// DefaultBound is for CPU-bound answers. A caller's requests, at a third of a
// millisecond each, delay the others by a third of a second at most. The bytes
// are 4 and 16 of the largest requests at max_payload 8 MiB.
var DefaultBound = Bound{Requests: 8192, Bytes: 128 << 20, PerCaller: 1024, PerCallerBytes: 32 << 20}

// gate counts requests in progress. It admits a caller's first request of any
// size.
type gate struct {
	bound Bound

	mu      sync.Mutex
	all     load
	callers map[string]load
}

// load is work in progress.
type load struct{ requests, bytes int }

func newGate(b Bound) *gate {
	if b == (Bound{}) {
		b = DefaultBound
	}
	return &gate{bound: b, callers: make(map[string]load)}
}

// enter reports whether a request may begin. If so, leave must be called when it
// has ended.
func (g *gate) enter(caller string, bytes int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.callers[caller]
	if g.all.exceeds(g.bound.Requests, g.bound.Bytes, bytes) || own.exceeds(g.bound.PerCaller, g.bound.PerCallerBytes, bytes) {
		return false
	}
	g.all = g.all.add(1, bytes)
	g.callers[caller] = own.add(1, bytes)
	return true
}

func (g *gate) leave(caller string, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = g.all.add(-1, -bytes)
	if own := g.callers[caller].add(-1, -bytes); own.requests > 0 {
		g.callers[caller] = own
	} else {
		delete(g.callers, caller)
	}
}

func (g *gate) inProgress() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all.requests
}

// exceeds reports whether one more request of more bytes exceeds the limits.
func (l load) exceeds(requests, bytes, more int) bool {
	return l.requests >= requests || l.requests > 0 && l.bytes+more > bytes
}

func (l load) add(requests, bytes int) load { return load{l.requests + requests, l.bytes + bytes} }

// requester identifies the caller by its reply subject: the last token
// identifies the request, the preceding ones the connection.
func requester(reply string) string { return reply[:max(0, strings.LastIndexByte(reply, '.'))] }
