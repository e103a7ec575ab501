package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// story is a session of two turns: the gateway's history, the stream and the
// documents.
type story struct {
	history   History
	stream    []Event
	documents map[string]Document
}

func newStory() *story {
	s := &story{}
	ask := func(run string, ts int64) {
		s.history.Asked(Ask{Session: "s", Run: run, Prompt: "do " + run, TS: ts})
		s.history.Answered(run, time.Unix(ts, 0))
		s.stream = append(s.stream, Event{ID: "begin-" + run, Hook: TurnBegun, Session: "s", Run: run, TS: ts, Text: "do " + run})
	}
	publish := func(e Event) {
		s.history.Published(e)
		s.history.Acknowledged(e.ID)
		s.stream = append(s.stream, e)
	}
	ask("r1", 1000)
	publish(Event{ID: "tool-a", Hook: ToolCall, Session: "s", Run: "r1", TS: 1010, Call: "a", Text: "A"})
	publish(Event{ID: "tool-b", Hook: ToolCall, Session: "s", TS: 1020, Call: "b", Text: "B", Failed: true})
	publish(Event{ID: "end-r1", Hook: AgentEnd, Session: "s", Run: "r1", TS: 1100, Text: "done"})
	ask("r2", 2000)
	publish(Event{ID: "tool-c", Hook: ToolCall, Session: "s", Run: "r2", TS: 2010, Call: "c", Text: "C"})
	publish(Event{ID: "tool-cron", Hook: ToolCall, Session: "s", Run: "cron", TS: 2020, Call: "cron"})
	publish(Event{ID: "close", Hook: SessionEnd, Session: "s", TS: 2500, Text: "reset"})
	publish(Event{ID: "tool-never", Hook: ToolCall, Session: "never", Run: "r9", TS: 1, Call: "never"})
	s.documents = map[string]Document{"s": {Ended: 2500, Turns: []Turn{
		{
			Run: "r1", Input: "do r1", Classified: true, Start: 1000, End: 1100, Result: "done",
			Calls: []Call{{ID: "a", Result: "A"}, {ID: "b", Error: "B"}},
		},
		{Run: "r2", Input: "do r2", Classified: true, Start: 2000, Calls: []Call{{ID: "c", Result: "C"}}},
	}}}
	return s
}

// turns changes the turns of the document.
func (s *story) turns(change func([]Turn) []Turn) {
	d := s.documents["s"]
	d.Turns = change(d.Turns)
	s.documents["s"] = d
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(*story)
		want  []Kind
	}{
		{"no deviation", func(*story) {}, nil},
		{"an acknowledged event is neither in the stream nor in the document", func(s *story) {
			s.stream = slices.DeleteFunc(s.stream, func(e Event) bool { return e.ID == "tool-a" })
			s.turns(func(t []Turn) []Turn { t[0].Calls = t[0].Calls[1:]; return t })
		}, []Kind{StreamLost}},
		{"an unacknowledged event is not in the stream", func(s *story) {
			s.history.Published(Event{ID: "tool-x", Hook: ToolCall, Session: "s", Run: "r1", TS: 1015, Call: "x"})
		}, nil},
		{"an unacknowledged event is in the stream but not in the document", func(s *story) {
			e := Event{ID: "tool-x", Hook: ToolCall, Session: "s", Run: "r1", TS: 1015, Call: "x"}
			s.history.Published(e)
			s.stream = append(s.stream, e)
		}, []Kind{Lost}},
		{"an event is in the stream twice", func(s *story) { s.stream = append(s.stream, s.stream[1]) }, nil},
		{"an answered turn is not in the stream", func(s *story) {
			s.stream = slices.DeleteFunc(s.stream, func(e Event) bool { return e.Run == "r2" })
			s.history.Acknowledged("close")
			s.documents["s"] = Document{Turns: s.documents["s"].Turns[:1], Ended: 2500}
		}, []Kind{StreamLost, StreamLost}},
		{"a turn answered in doubt is not in the stream", func(s *story) {
			s.history.Doubt(time.Unix(1500, 0), time.Unix(2500, 0))
			s.stream = slices.DeleteFunc(s.stream, func(e Event) bool { return e.ID == "begin-r2" })
			s.documents["s"] = Document{Turns: s.documents["s"].Turns[:1], Ended: 2500}
		}, nil},
		{"a lost call", func(s *story) {
			s.turns(func(t []Turn) []Turn { t[0].Calls = t[0].Calls[1:]; return t })
		}, []Kind{Lost}},
		{"a lost end", func(s *story) {
			s.turns(func(t []Turn) []Turn { t[0].End, t[0].Result = 0, ""; return t })
		}, []Kind{Lost, Wrong}},
		{"a lost turn", func(s *story) {
			s.turns(func(t []Turn) []Turn { return t[1:] })
		}, []Kind{Lost, Lost, Lost}},
		{"a lost document", func(s *story) { delete(s.documents, "s") }, []Kind{Lost, Lost, Lost, Lost, Lost, Wrong}},
		{"a lost end of the session", func(s *story) {
			s.documents["s"] = Document{Turns: s.documents["s"].Turns}
		}, []Kind{Wrong}},
		{"a doubled call", func(s *story) {
			s.turns(func(t []Turn) []Turn { t[0].Calls = append(t[0].Calls, t[0].Calls[1]); return t })
		}, []Kind{Doubled}},
		{"a doubled turn", func(s *story) {
			s.turns(func(t []Turn) []Turn {
				again := t[1]
				again.Calls = nil
				return []Turn{t[0], again, t[1]}
			})
		}, []Kind{Doubled}},
		{"a call in the wrong turn", func(s *story) {
			s.turns(func(t []Turn) []Turn {
				t[1].Calls = append([]Call{t[0].Calls[1]}, t[1].Calls...)
				t[0].Calls = t[0].Calls[:1]
				return t
			})
		}, []Kind{Misplaced}},
		{"a call of a run without a turn", func(s *story) {
			s.turns(func(t []Turn) []Turn { t[1].Calls = append(t[1].Calls, Call{ID: "cron"}); return t })
		}, []Kind{Misplaced}},
		{"calls out of order", func(s *story) {
			s.turns(func(t []Turn) []Turn { slices.Reverse(t[0].Calls); return t })
		}, []Kind{Misplaced}},
		{"turns out of order", func(s *story) {
			s.turns(func(t []Turn) []Turn { slices.Reverse(t); return t })
		}, []Kind{Misplaced}},
		{"an invented call", func(s *story) {
			s.turns(func(t []Turn) []Turn { t[1].Calls = append(t[1].Calls, Call{ID: "x"}); return t })
		}, []Kind{Invented}},
		{"an invented turn", func(s *story) {
			s.turns(func(t []Turn) []Turn { return append(t, Turn{Run: "r3"}) })
		}, []Kind{Invented}},
		{"an invented session", func(s *story) { s.documents["x"] = Document{} }, []Kind{Invented}},
		{"an event in the stream that was not published", func(s *story) {
			s.stream = append(s.stream, Event{ID: "tool-x", Hook: ToolCall, Session: "s", Run: "cron", TS: 1, Call: "x"})
		}, []Kind{Invented}},
		{"an event that was changed in transit", func(s *story) { s.stream[6].Text = "other" }, []Kind{Invented}},
		{"a turn in the stream that was not requested", func(s *story) { s.stream[4].TS = 1999 }, []Kind{Invented, Wrong}},
		{"a result of a different call", func(s *story) {
			s.turns(func(t []Turn) []Turn { t[0].Calls[0].Result = "B"; return t })
		}, []Kind{Wrong}},
		{"a wrong start", func(s *story) {
			s.turns(func(t []Turn) []Turn { t[0].Start++; return t })
		}, []Kind{Wrong}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStory()
			tc.spoil(s)
			findings := s.history.Check(s.stream, s.documents)
			var got []Kind
			for _, f := range findings {
				got = append(got, f.Kind)
			}
			require.ElementsMatch(t, tc.want, got, "%v", findings)
		})
	}
}

func TestCheckIgnoresTheOrderOfTheStream(t *testing.T) {
	t.Parallel()
	s := newStory()
	slices.Reverse(s.stream)
	require.Empty(t, s.history.Check(s.stream, s.documents))
}

func TestWorkload(t *testing.T) {
	t.Parallel()
	w := Workload{Seed: 7, Name: "w", Turns: 6, Calls: 8, Start: 1_700_000_000_000}
	require.Equal(t, w.Session(3), w.Session(3), "the same seed makes the same session")
	var asks, retries, again, noID, loose, failed, early, ended, back int
	for n := range 200 {
		begun := map[string]int64{}
		seen := map[string]bool{}
		turns := map[int64]bool{}
		last := int64(0)
		for _, s := range w.Session(n) {
			if s.Ask != nil {
				asks++
				if _, ok := begun[s.Ask.Run]; ok {
					retries++
				} else {
					require.False(t, turns[s.Ask.TS], "two turns begin at the same time")
					turns[s.Ask.TS] = true
					begun[s.Ask.Run] = s.Ask.TS
					if s.Ask.TS < last {
						back++
					}
					last = s.Ask.TS
				}
				continue
			}
			e := *s.Event
			if seen[e.ID] {
				again++
			}
			seen[e.ID] = true
			if s.NoID {
				noID++
			}
			_, known := begun[e.Run]
			switch {
			case e.Hook == SessionEnd:
				ended++
			case e.Run == "":
				loose++
			case !known && !strings.Contains(e.Run, "cron"):
				early++
			}
			if e.Failed {
				failed++
			}
		}
	}
	for name, n := range map[string]int{
		"requests": asks, "retries": retries, "events again": again, "events again without a header": noID, "events without a run": loose,
		"failures": failed, "events before their turn": early, "ends of sessions": ended, "clocks set back": back,
	} {
		require.Greater(t, n, 10, name)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	turn := func(run, start string) string {
		raw, err := json.Marshal(map[string]any{
			"runId": run, "input": "in", "result": "out", "intent": map[string]any{"result": map[string]any{"intent": "X"}},
			"toolCalls":  []any{map[string]any{"toolCallId": "c-" + run, "error": "bad"}},
			"timestamps": map[string]any{"start": start, "end": "1970-01-01T00:01:00Z"},
		})
		require.NoError(t, err)
		return string(raw)
	}
	at := func(second string) string { return "1970-01-01T00:00:" + second + "Z" }
	put("s.json", `{"sessionId": "s", "current": `+turn("r4", at("04"))+`, "history": [`+turn("r3", at("03"))+`], "ended": {"reason": "x", "at": "1970-01-01T00:00:09Z"}}`)
	put("s.history.jsonl", turn("r2", at("09"))+"\n"+turn("r1", at("01"))+"\n"+turn("r3", at("08"))+"\n"+turn("r2", at("02"))+"\n")
	put("s.pending", "not a document")
	documents, err := Documents(dir)
	require.NoError(t, err)
	want := Document{Ended: 9000}
	for i, run := range []string{"r1", "r2", "r3", "r4"} {
		want.Turns = append(want.Turns, Turn{
			Run: run, Input: "in", Classified: true, Result: "out", Start: int64(i+1) * 1000, End: 60_000,
			Calls: []Call{{ID: "c-" + run, Error: "bad"}},
		})
	}
	require.Equal(t, map[string]Document{"s": want}, documents)

	put("t.json", `{"sessionId": "s"}`)
	_, err = Documents(dir)
	require.ErrorContains(t, err, "two files")
	put("t.json", `{"sessionId": `)
	_, err = Documents(dir)
	require.ErrorContains(t, err, "t.json")
	put("t.json", `{"sessionId": "t"}`)
	put("t.history.jsonl", turn("r1", at("01"))+"\n{\"runId\": \"r")
	_, err = Documents(dir)
	require.ErrorContains(t, err, "line of the history")
}
