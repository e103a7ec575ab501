package faults

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is what is wrong.
type Kind string

// The kinds of findings.
const (
	// StreamLost: acknowledged, or answered, and not in the stream.
	StreamLost Kind = "lost by the stream"
	// Lost: in the stream, and not in the documents.
	Lost Kind = "lost"
	// Doubled: more than once in the documents.
	Doubled Kind = "doubled"
	// Misplaced: in another turn or session than its own, or out of order.
	Misplaced Kind = "misplaced"
	// Invented: nobody published it.
	Invented Kind = "invented"
	// Wrong: there, and not as it was published.
	Wrong Kind = "wrong"
)

// Finding is one deviation.
type Finding struct {
	Kind    Kind
	Session string
	// What names the turn or the event, and says how it deviates.
	What string
}

// String is the finding in a line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: session %s: %s", f.Kind, f.Session, f.What)
}

// Check compares what gateways did with what the stream holds and with the
// documents. Findings are in the order of their sessions.
func (h *History) Check(stream []Event, documents map[string]Document) []Finding {
	findings := h.checkStream(stream)
	expected := Expect(stream)
	for session, want := range expected {
		findings = append(findings, h.compare(session, want, documents[session])...)
	}
	for session, got := range documents {
		if _, ok := expected[session]; !ok {
			findings = append(findings, h.compare(session, Document{}, got)...)
			findings = append(findings, Finding{Invented, session, "nobody asked for a hint in it"})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Session, b.Session), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.What, b.What))
	})
	return findings
}

// checkStream compares what gateways know with what the stream holds.
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
		if p := h.events[e.ID]; p == nil || p.Event != e {
			out = append(out, Finding{Invented, e.Session, fmt.Sprintf("%s %s is in the stream as nobody published it", e.Hook, e.ID)})
		}
	}
	for id, p := range h.events {
		if p.acked && !stored[id] {
			out = append(out, Finding{StreamLost, p.Session, fmt.Sprintf("%s %s was acknowledged", p.Hook, id)})
		}
	}
	for id, run := range h.runs {
		if !begun[id] && !h.doubtful(run) {
			out = append(out, Finding{StreamLost, run.asks[0].Session, fmt.Sprintf("turn %s was answered", id)})
		}
	}
	return out
}

// compare compares a document with what it should be.
func (h *History) compare(session string, want, got Document) (out []Finding) {
	find := func(k Kind, format string, args ...any) {
		out = append(out, Finding{k, session, fmt.Sprintf(format, args...)})
	}
	turns := map[string]Turn{}
	for _, t := range got.Turns {
		if _, twice := turns[t.Run]; twice {
			find(Doubled, "turn %s", t.Run)
		}
		turns[t.Run] = t
		if !slices.ContainsFunc(want.Turns, func(w Turn) bool { return w.Run == t.Run }) {
			find(Invented, "turn %s", t.Run)
		}
	}
	if !isOrdered(want.Turns, got.Turns, func(t Turn) string { return t.Run }) {
		find(Misplaced, "the turns are in another order")
	}
	h.compareCalls(want, got, find)
	for _, w := range want.Turns {
		g, ok := turns[w.Run]
		if !ok {
			find(Lost, "turn %s", w.Run)
			continue
		}
		if !isOrdered(w.Calls, g.Calls, func(c Call) string { return c.ID }) {
			find(Misplaced, "the calls of turn %s are in another order", w.Run)
		}
		if g.End == 0 && w.End != 0 {
			find(Lost, "the end of turn %s", w.Run)
		}
		w.Calls, g.Calls = nil, nil
		if w, g := fmt.Sprintf("%+v", w), fmt.Sprintf("%+v", g); w != g {
			find(Wrong, "turn is %s instead of %s", g, w)
		}
	}
	if got.Ended != want.Ended {
		find(Wrong, "ended at %d instead of %d", got.Ended, want.Ended)
	}
	return out
}

// compareCalls compares the calls of all turns of a session.
func (h *History) compareCalls(want, got Document, find func(Kind, string, ...any)) {
	type place struct {
		run  string
		call Call
	}
	should, does := map[string]place{}, map[string]place{}
	for _, t := range want.Turns {
		for _, c := range t.Calls {
			should[c.ID] = place{t.Run, c}
		}
	}
	for _, t := range got.Turns {
		for _, c := range t.Calls {
			if _, twice := does[c.ID]; twice {
				find(Doubled, "call %s", c.ID)
			}
			does[c.ID] = place{t.Run, c}
			w, ok := should[c.ID]
			switch {
			case !ok && h.published("tool-"+c.ID):
				find(Misplaced, "call %s is in turn %s and belongs to none", c.ID, t.Run)
			case !ok:
				find(Invented, "call %s in turn %s", c.ID, t.Run)
			case w.run != t.Run:
				find(Misplaced, "call %s is in turn %s instead of %s", c.ID, t.Run, w.run)
			case w.call != c:
				find(Wrong, "call is %+v instead of %+v", c, w.call)
			}
		}
	}
	for id, w := range should {
		if _, ok := does[id]; !ok {
			find(Lost, "call %s of turn %s", id, w.run)
		}
	}
}

func (h *History) published(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.events[id] != nil
}

// isOrdered says whether what is in both lists is in the same order in both.
func isOrdered[T any](want, got []T, name func(T) string) bool {
	at := make(map[string]int, len(want))
	for i, w := range want {
		at[name(w)] = i
	}
	last := -1
	for _, g := range got {
		i, ok := at[name(g)]
		if !ok {
			continue
		}
		if i < last {
			return false
		}
		last = i
	}
	return true
}

// Expect returns the documents that a stream makes (contract §8). It knows
// nothing of how the program folds events: it sorts and looks.
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

// expect makes a document of the events of a session, which are in order.
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

// inOrder returns turns in the order of their beginnings.
func inOrder(turns map[string]fileTurn) []fileTurn {
	return slices.SortedFunc(maps.Values(turns), func(a, b fileTurn) int {
		return cmp.Or(strings.Compare(a.Timestamps.Start, b.Timestamps.Start), strings.Compare(a.RunID, b.RunID))
	})
}
