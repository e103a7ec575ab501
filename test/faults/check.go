package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of deviation.
type Kind string

// The kinds of findings.
const (
	// StreamLost: acknowledged or answered, but not in the stream.
	StreamLost Kind = "lost by the stream"
	// Lost: in the stream, but not in the documents.
	Lost Kind = "lost"
	// Doubled: more than once in the documents.
	Doubled Kind = "doubled"
	// Misplaced: in the wrong turn or session, or out of order.
	Misplaced Kind = "misplaced"
	// Invented: never published.
	Invented Kind = "invented"
	// Wrong: not as it was published.
	Wrong Kind = "wrong"
)

// Finding is one deviation.
type Finding struct {
	Kind    Kind
	Session string
	// What names the turn or event and the deviation.
	What string
}

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: session %s: %s", f.Kind, f.Session, f.What)
}

// Check compares what gateways did with the stream and with the documents.
// Findings are sorted by session.
func (h *History) Check(stream []Event, documents map[string]Document) []Finding {
	findings := h.checkStream(stream)
	expected := Expect(stream)
	for session, want := range expected {
		findings = append(findings, h.compare(session, want, documents[session])...)
	}
	for session, got := range documents {
		if _, ok := expected[session]; !ok {
			findings = append(findings, h.compare(session, Document{}, got)...)
			findings = append(findings, Finding{Invented, session, "no hint was requested in it"})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Session, b.Session), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.What, b.What))
	})
	return findings
}

// checkStream compares what gateways did with the stream.
func (h *History) checkStream(stream []Event) (out []Finding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stored, begun := map[string]bool{}, map[string]bool{}
	for _, e := range stream {
		if e.Hook == TurnBegun {
			begun[e.Run] = true
			run := h.runs[e.Run]
			if run == nil || !slices.ContainsFunc(run.asks, func(a Ask) bool { return a.TS == e.TS && a.Session == e.Session }) {
				out = append(out, Finding{Invented, e.Session, fmt.Sprintf("turn %s at %d", e.Run, e.TS)})
			}
			continue
		}
		stored[e.ID] = true
		if h.events[e.ID] != e {
			out = append(out, Finding{Invented, e.Session, fmt.Sprintf("%s %s in the stream was not published like this", e.Hook, e.ID)})
		}
	}
	for id := range h.acked {
		if e := h.events[id]; !stored[id] {
			out = append(out, Finding{StreamLost, e.Session, fmt.Sprintf("%s %s was acknowledged", e.Hook, id)})
		}
	}
	for id, run := range h.runs {
		if !begun[id] && !h.doubtful(run) {
			out = append(out, Finding{StreamLost, run.asks[0].Session, fmt.Sprintf("turn %s was answered at %s, in doubt %s", id, clocks(run.answers), h.doubts)})
		}
	}
	return out
}

// item is a turn, or a call in its turn.
type item struct {
	name  string
	place string // the turn's name for a call, "" for a turn
	event string // the id of a call's event
	value string
	ended bool
}

// items returns turns and calls in the order of the document.
func items(d Document) (out []item) {
	for _, t := range d.Turns {
		turn := item{name: "turn " + t.Run, ended: t.End != 0}
		calls := t.Calls
		t.Calls = nil
		turn.value = fmt.Sprintf("%+v", t)
		out = append(out, turn)
		for _, c := range calls {
			out = append(out, item{name: "call " + c.ID, place: turn.name, event: "tool-" + c.ID, value: fmt.Sprintf("%+v", c)})
		}
	}
	return out
}

// compare compares a document with the one expected.
func (h *History) compare(session string, want, got Document) (out []Finding) {
	find := func(k Kind, format string, args ...any) {
		out = append(out, Finding{k, session, fmt.Sprintf(format, args...)})
	}
	wanted := items(want)
	position := map[string]int{} // in wanted
	for i, w := range wanted {
		position[w.name] = i
	}
	seen := map[string]bool{}
	last := map[string]int{} // by place: the last position
	for _, g := range items(got) {
		if seen[g.name] {
			find(Doubled, "%s", g.name)
		}
		seen[g.name] = true
		i, ok := position[g.name]
		switch {
		case !ok && h.published(g.event):
			find(Misplaced, "%s is in %s but belongs to no turn", g.name, g.place)
			continue
		case !ok:
			find(Invented, "%s", g.name)
			continue
		case wanted[i].place != g.place:
			find(Misplaced, "%s is in %s instead of %s", g.name, g.place, wanted[i].place)
			continue
		case wanted[i].value != g.value:
			find(Wrong, "%s is %s instead of %s", g.name, g.value, wanted[i].value)
		}
		if wanted[i].ended && !g.ended {
			find(Lost, "the end of %s", g.name)
		}
		if i < last[g.place] {
			find(Misplaced, "%s is out of order", g.name)
		}
		last[g.place] = max(last[g.place], i)
	}
	for _, w := range wanted {
		if !seen[w.name] {
			find(Lost, "%s", w.name)
		}
	}
	if got.Ended != want.Ended {
		find(Wrong, "ended at %d instead of %d", got.Ended, want.Ended)
	}
	return out
}

func (h *History) published(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.events[id]
	return ok
}

// Expect returns the documents that result from a stream (contract §8). It shares
// no code with the program's fold: it sorts the events and goes through them.
func Expect(stream []Event) map[string]Document {
	sessions := map[string][]Event{}
	seen := map[string]bool{}
	for _, e := range stream {
		if !seen[e.ID] {
			seen[e.ID] = true
			sessions[e.Session] = append(sessions[e.Session], e)
		}
	}
	out := map[string]Document{}
	for session, events := range sessions {
		slices.SortFunc(events, Event.compare)
		if d := expect(events); len(d.Turns) > 0 {
			out[session] = d
		}
	}
	return out
}

// expect makes a document from the events of a session, which are in order.
func expect(events []Event) (d Document) {
	begin := map[string]int{}
	for _, e := range events {
		if e.Hook != TurnBegun {
			continue
		}
		if _, known := begin[e.Run]; !known {
			begin[e.Run] = len(d.Turns)
			d.Turns = append(d.Turns, Turn{Run: e.Run, Input: e.Text, Start: e.TS})
		}
		if !e.Failed {
			d.Turns[begin[e.Run]].Classified = true
		}
	}
	for _, e := range events {
		i, ok := begin[e.Run]
		if e.Run == "" {
			for i, ok = len(d.Turns)-1, true; i >= 0 && d.Turns[i].Start > e.TS; i-- {
			}
		}
		if !ok || i < 0 {
			continue
		}
		result, failure := e.Text, ""
		if e.Failed {
			result, failure = "", e.Text
		}
		switch e.Hook {
		case ToolCall:
			d.Turns[i].Calls = append(d.Turns[i].Calls, Call{ID: e.Call, Result: result, Error: failure})
		case AgentEnd:
			d.Turns[i].Result, d.Turns[i].Error, d.Turns[i].End = result, failure, e.TS
		case SessionEnd:
			if e.TS >= d.Turns[len(d.Turns)-1].Start {
				d.Ended = e.TS
			}
		}
	}
	return d
}
