package faults

import (
	"fmt"
	"sync"
	"time"
)

// History is what gateways did and what they know of it. It is safe for
// concurrent use; the zero value is empty.
type History struct {
	mu     sync.Mutex
	events map[string]*publication
	runs   map[string]*asked
	doubts []doubt
}

// publication is an event that was published.
type publication struct {
	Event
	acked bool
}

// asked is a run for which a hint was asked.
type asked struct {
	asks []Ask
	// answers are when hints came that a consumer had to make a turn for.
	answers []time.Time
}

type doubt struct{ from, to time.Time }

// Published notes that an event is going to be published, for the first time
// or again.
func (h *History) Published(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events == nil {
		h.events = map[string]*publication{}
	}
	if h.events[e.ID] == nil {
		h.events[e.ID] = &publication{Event: e}
	}
}

// Acknowledged notes that the stream has acknowledged an event.
func (h *History) Acknowledged(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[id].acked = true
}

// Asked notes that a request is going to be sent.
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

// Answered notes that a run was given a hint.
func (h *History) Answered(run string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[run].answers = append(h.runs[run].answers, at)
}

// Doubt says that turns that were answered in this time may be missing from
// the stream: the process that answered was killed while the stream could not
// take what it published. A consumer does not make a request wait for that
// (contract §2).
func (h *History) Doubt(from, to time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubts = append(h.doubts, doubt{from, to})
}

// doubtful says whether all that was answered of a run was answered in doubt.
func (h *History) doubtful(run *asked) bool {
	for _, at := range run.answers {
		certain := true
		for _, d := range h.doubts {
			if !at.Before(d.from) && !at.After(d.to) {
				certain = false
			}
		}
		if certain {
			return false
		}
	}
	return true
}

// Counts are the sizes of a history.
type Counts struct {
	Events, Acknowledged  int
	Requests, Runs, Hints int
}

// Counts returns how much there is.
func (h *History) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := Counts{Events: len(h.events), Runs: len(h.runs)}
	for _, p := range h.events {
		if p.acked {
			c.Acknowledged++
		}
	}
	for _, r := range h.runs {
		c.Requests += len(r.asks)
		c.Hints += len(r.answers)
	}
	return c
}

// String is the counts in a line.
func (c Counts) String() string {
	return fmt.Sprintf("%d events, %d of them acknowledged; %d requests for %d runs, %d hints",
		c.Events, c.Acknowledged, c.Requests, c.Runs, c.Hints)
}
