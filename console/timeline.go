package console

import (
	"slices"
	"time"
)

// event is a moment of a turn, by the gateway's clock.
type event struct {
	At time.Time
	// Offset is the time since the turn was asked.
	Offset time.Duration
	What   string // a word
	Detail string // "" for none
	// Took is how long it took in milliseconds, 0 if that is not known.
	Took   float64
	Failed bool
}

// Milliseconds returns the offset for people.
func (e event) Milliseconds() int64 { return e.Offset.Round(time.Millisecond).Milliseconds() }

// Timeline returns what is recorded of the course of a turn, earliest first: that it was
// asked, classified and answered, its tool calls, each at its beginning, and its end.
// When the answer was sent is not recorded: it follows the classification.
func (t sessionTurn) Timeline() []event {
	turn := t.Turn
	out := []event{{At: time.UnixMilli(turn.Begin.TS), What: "asked"}}
	switch r := turn.Intent.Result; {
	case r != nil:
		asked := turn.Begin
		if turn.Classified != nil {
			asked = *turn.Classified // a retry, if it is not the first
		}
		out = append(out,
			event{At: plus(asked.TS, r.ElapsedMs), What: "classified", Detail: r.Source, Took: r.ElapsedMs},
			event{At: plus(asked.TS, r.ElapsedMs), What: "answered", Detail: t.answer()})
	case turn.Intent.Skip != "":
		out = append(out, event{At: out[0].At, What: "answered", Detail: t.answer()})
	}
	for _, call := range turn.ToolCalls {
		out = append(out, event{At: plus(call.TS, -call.DurationMs), What: "tool", Detail: call.Name, Took: call.DurationMs, Failed: call.Error != ""})
	}
	if turn.End != nil {
		out = append(out, event{At: time.UnixMilli(turn.End.TS), What: "end", Failed: turn.Error != ""})
	}
	slices.SortStableFunc(out, func(a, b event) int { return a.At.Compare(b.At) })
	for i := range out {
		out[i].Offset = out[i].At.Sub(time.UnixMilli(turn.Begin.TS))
	}
	return out
}

// answer says what the turn was answered with.
func (t sessionTurn) answer() string {
	if t.Hinted {
		return "hint"
	}
	return "no hint: " + t.Skip
}

// plus returns the time that is some milliseconds after a time in Unix milliseconds.
func plus(ts int64, ms float64) time.Time {
	return time.UnixMilli(ts).Add(time.Duration(ms * float64(time.Millisecond)))
}
