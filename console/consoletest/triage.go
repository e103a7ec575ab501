package consoletest

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"intenthint/console"
	"intenthint/payload"
	"intenthint/triage/state"
)

// Gate is the shared state of the triage gates of all consumers, in memory.
type Gate struct {
	mu      sync.Mutex
	decided []state.Decision
	marks   []state.Mark
	// Behind makes marks published but not yet applied; Refused is the error of
	// publishing one.
	Behind  bool
	Refused error
}

// Page returns the page of the gate.
func (g *Gate) Page() http.Handler { return console.Triage(g, g.mark) }

// Decide adds a decision.
func (g *Gate) Decide(d state.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decided = append(g.decided, d)
}

// Message returns a decision about message n of a group, made the given time
// ago.
func Message(group string, n int, verdict, text string, ago time.Duration) state.Decision {
	at := time.Now().Add(-ago)
	return state.Decision{
		Group: group, MessageID: strconv.Itoa(n), Agent: "main", Sender: "Ada", Text: text, At: at.UnixMilli(),
		Verdict: verdict, Reason: "model", Score: 3, Model: "mock/small", ElapsedMs: 210, Decided: at,
	}
}

// Decisions implements the interface of [console.Decided].
func (g *Gate) Decisions(_ context.Context, since time.Time, yield func(state.Decision) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.decided {
		if d.Decided.Before(since) {
			continue
		}
		if err := yield(d); err != nil {
			return err
		}
	}
	return nil
}

// Decision implements the interface of [console.Decided].
func (g *Gate) Decision(_ context.Context, group, id string) (state.Decision, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.decided {
		if d.Group == group && d.MessageID == id {
			return d, true, nil
		}
	}
	return state.Decision{}, false, nil
}

// Marks implements the interface of [console.Decided].
func (g *Gate) Marks(context.Context) ([]state.Mark, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.marks, nil
}

func (g *Gate) mark(_ context.Context, said payload.Feedback) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Refused != nil {
		return g.Refused
	}
	if !g.Behind {
		g.marks = append(g.marks, state.Mark{Group: said.Group, MessageID: said.MessageID, Verdict: said.Verdict, By: said.By})
	}
	return nil
}
