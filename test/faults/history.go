package faults

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// History is what gateways did, and which of it they know to be stored. It is
// safe for concurrent use; the zero value is empty.
type History struct {
	mu     sync.Mutex
	events map[string]Event // by id
	acked  map[string]bool  // ids
	runs   map[string]*asked
	doubts []doubt
}

// asked is a run for which a hint was requested.
type asked struct {
	asks []Ask
	// answers are the times of hints for which a consumer had to begin a turn.
	answers []time.Time
}

type doubt struct{ from, to time.Time }

func (d doubt) String() string { return d.from.Format(clock) + "–" + d.to.Format(clock) }

// clock is the layout of times in findings.
const clock = "15:04:05.000"

func clocks(times []time.Time) []string {
	out := make([]string, len(times))
	for i, at := range times {
		out[i] = at.Format(clock)
	}
	return out
}

// Published records an event that is about to be published, for the first time
// or again.
func (h *History) Published(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events == nil {
		h.events, h.acked = map[string]Event{}, map[string]bool{}
	}
	if _, again := h.events[e.ID]; !again {
		h.events[e.ID] = e
	}
}

// Acknowledged records that the stream has acknowledged a published event.
func (h *History) Acknowledged(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked[id] = true
}

// Asked records a request that is about to be sent.
func (h *History) Asked(a Ask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs == nil {
		h.runs = map[string]*asked{}
	}
	if h.runs[a.Run] == nil {
		h.runs[a.Run] = &asked{}
	}
	h.runs[a.Run].asks = append(h.runs[a.Run].asks, a)
}

// Answered records that a run was given a hint.
func (h *History) Answered(run string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[run].answers = append(h.runs[run].answers, at)
}

// Doubt records a time in which turns were answered that may be missing from the
// stream: the process that answered was killed while the stream could not store
// what it published. A request does not wait for that (contract §2).
func (h *History) Doubt(from, to time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubts = append(h.doubts, doubt{from, to})
}

// doubtful reports whether every answer of a run was given in doubt.
func (h *History) doubtful(run *asked) bool {
	return !slices.ContainsFunc(run.answers, func(at time.Time) bool {
		return !slices.ContainsFunc(h.doubts, func(d doubt) bool { return !at.Before(d.from) && !at.After(d.to) })
	})
}

// Counts are the sizes of a history.
type Counts struct {
	Events, Acknowledged  int
	Requests, Runs, Hints int
}

// Counts returns the sizes so far.
func (h *History) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Counts{Events: len(h.events), Acknowledged: len(h.acked), Runs: len(h.runs)}
	for _, r := range h.runs {
		c.Requests += len(r.asks)
		c.Hints += len(r.answers)
	}
	return c
}

// String returns the counts in one line.
func (c Counts) String() string {
	return fmt.Sprintf("%d events, %d of them acknowledged; %d requests for %d runs, %d hints",
		c.Events, c.Acknowledged, c.Requests, c.Runs, c.Hints)
}
