package bucket

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/bus"
	"intenthint/internal/kv"
	"intenthint/subjects"
)

// Turns is the bucket of the turns of sessions, and of the events from which
// experiences were extracted. It is safe for concurrent use.
//
// The session store cannot tell which turn a request begins: it knows only turns
// that may get a hint, and learns of them a little later. So turns are counted
// when requests arrive, in one small document per session.
type Turns struct {
	bucket *kv.Bucket
	age    time.Duration
}

// TurnsIn is the bucket of the turns of a system. They are kept as long as events, from
// a session's last turn on.
func TurnsIn(l bus.Layout) jetstream.KeyValueConfig {
	c := l.Bucket("_KNOWHUB_TURNS", "Turns of sessions, for the reminders and recalled experiences of intenthint")
	c.TTL = l.MaxAge
	return c
}

// TurnsOf returns the turns of a system without touching their bucket, see
// [Turns.Open].
func TurnsOf(l bus.Layout, js jetstream.JetStream) *Turns { return NewTurns(js, TurnsIn(l)) }

// NewTurns returns the bucket without touching it, see [Turns.Open].
func NewTurns(js jetstream.JetStream, config jetstream.KeyValueConfig) *Turns {
	return &Turns{kv.New(js, config), config.TTL}
}

// Open opens the bucket and creates a missing one. Otherwise the first use does
// so.
func (t *Turns) Open(ctx context.Context) error {
	return t.bucket.Open(ctx)
}

// Turn identifies a turn. Times are in Unix milliseconds, by the gateway's
// clock.
type Turn struct {
	Session string
	// Run is its run id; "" for a turn whose retries cannot be recognised.
	Run string
	// At is when it began.
	At int64
	// Reset is when the session began anew or its history was compacted, 0 for
	// never. After a reset, text in front of earlier prompts may be gone.
	Reset int64
}

// session is the document of one session.
type session struct {
	// Start is when the first of the turns began, or the reset before it if a clock
	// that was set back makes that the later one.
	Start int64 `json:"start,omitempty"`
	// Turns is the number of turns since Start.
	Turns int `json:"turns"`
	// Runs are the newest ones, oldest first.
	Runs []run `json:"runs,omitempty"`
	// Recalled maps an experience to the turn in which it was last recalled.
	Recalled map[string]int `json:"recalled,omitempty"`
}

// run is one turn; it may be requested several times.
type run struct {
	ID   string `json:"id"`
	Turn int    `json:"turn"`
	// Recalled are the experiences recalled in the turn; Asked reports whether
	// they were searched for.
	Recalled []string `json:"recalled,omitempty"`
	Asked    bool     `json:"asked,omitempty"`
	// Again reports whether a retry got the experiences again.
	Again bool `json:"again,omitempty"`
}

const (
	// maxRuns is how many runs of a session are remembered. A retry comes before
	// later turns.
	maxRuns = 16
	// maxRecalled bounds the experiences that a document remembers. Those of the
	// oldest turns may be recalled again.
	maxRecalled = 500
)

// Begin returns the number of a turn in its session, counted from 1, and from 1
// again after a reset. The same run is the same turn; a run without an id is a
// turn of its own.
func (t *Turns) Begin(ctx context.Context, turn Turn) (n int, err error) {
	err = t.change(ctx, turn.Session, func(doc *session) bool {
		r, added := doc.run(turn)
		n = r.Turn
		return added
	})
	return n, err
}

// Recall chooses, from the ids of experiences, best first, at most most that a
// turn may be shown. It leaves out those that the session was shown since its
// last reset and within the last after turns; after is 0 for all earlier turns,
// and negative for no such rule. The same run gets the same experiences again, and
// again is true. After an error those returned may be recorded as shown, see
// [Turns.PutBack].
func (t *Turns) Recall(ctx context.Context, turn Turn, ids []string, most, after int) (chosen []string, again bool, err error) {
	err = t.change(ctx, turn.Session, func(doc *session) bool {
		r, _ := doc.run(turn)
		if again = r.Asked; again {
			chosen = r.Recalled
			known := r.Again
			r.Again = true
			return !known
		}
		chosen = nil
		for _, id := range ids {
			last, known := doc.Recalled[id]
			if known && (after == 0 || r.Turn-last <= after) {
				continue
			}
			if len(chosen) == most {
				break
			}
			chosen = append(chosen, id)
		}
		r.Asked, r.Recalled = true, chosen
		if doc.Recalled == nil {
			doc.Recalled = map[string]int{}
		}
		for _, id := range chosen {
			doc.Recalled[id] = r.Turn
		}
		doc.forget(r.Turn, after)
		return true
	})
	return chosen, again, err
}

// PutBack lets the experiences that [Turns.Recall] chose for a turn be chosen
// again, because the turn was not shown them. It does nothing if the run was
// retried: one of its requests may have been answered.
func (t *Turns) PutBack(ctx context.Context, turn Turn, chosen []string) error {
	return t.change(ctx, turn.Session, func(doc *session) bool {
		if turn.Run != "" {
			r := doc.known(turn.Run)
			if r == nil || !r.Asked || r.Again {
				return false
			}
			r.Asked, r.Recalled = false, nil
		}
		for _, id := range chosen {
			delete(doc.Recalled, id)
		}
		return true
	})
}

func (t *Turns) change(ctx context.Context, sessionID string, change func(doc *session) (write bool)) error {
	_, err := kv.Change(ctx, t.bucket, subjects.Name(sessionID), func(known *kv.Value[session]) (bool, error) {
		return change(&known.V), nil
	})
	return err
}

// known returns the run with an id, nil for none.
func (doc *session) known(id string) *run {
	if i := slices.IndexFunc(doc.Runs, func(r run) bool { return r.ID == id }); i >= 0 {
		return &doc.Runs[i]
	}
	return nil
}

// run returns the run of a turn, and whether it was added.
func (doc *session) run(turn Turn) (r *run, added bool) {
	if r := doc.known(turn.Run); r != nil {
		return r, false
	}
	// A reset that is reported only after the turn that followed it counts from
	// then on. A reset before the first turn has nothing to forget.
	if doc.Turns == 0 || turn.Reset > doc.Start {
		doc.Start, doc.Turns, doc.Recalled = max(turn.At, turn.Reset), 0, nil
	}
	doc.Turns++
	if turn.Run == "" {
		return &run{Turn: doc.Turns}, true // retries cannot be recognised
	}
	doc.Runs = append(doc.Runs, run{ID: turn.Run, Turn: doc.Turns})
	doc.Runs = doc.Runs[max(0, len(doc.Runs)-maxRuns):]
	return &doc.Runs[len(doc.Runs)-1], true
}

// forget removes entries that no longer keep an experience from being recalled,
// and the oldest ones beyond the bound.
func (doc *session) forget(turn, after int) {
	if after > 0 {
		maps.DeleteFunc(doc.Recalled, func(_ string, last int) bool { return turn-last > after })
	}
	for len(doc.Recalled) > maxRecalled {
		oldest := ""
		for id, last := range doc.Recalled {
			if oldest == "" || last < doc.Recalled[oldest] || last == doc.Recalled[oldest] && id < oldest {
				oldest = id
			}
		}
		delete(doc.Recalled, oldest)
	}
}

// extractedKey is the prefix of the keys of what experiences were extracted from: turns
// and events. The name of a session has no dot.
const extractedKey = "extracted."

// Extracted reports whether experiences were extracted from a turn or an event.
func (t *Turns) Extracted(ctx context.Context, id string) (bool, error) {
	known, err := kv.Get[struct{}](ctx, t.bucket, extractedKey+subjects.Name(id))
	return known.Revision > 0, err
}

// SetExtracted notes that experiences were extracted from a turn or an event.
func (t *Turns) SetExtracted(ctx context.Context, id string) error {
	_, err := t.bucket.Put(ctx, extractedKey+subjects.Name(id), struct{}{}, 0)
	if kv.IsConflict(err) { // it is noted already
		return nil
	}
	return err
}
