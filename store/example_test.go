package store_test

import (
	"encoding/json"
	"fmt"

	"intenthint/store"
)

// A document is a function of the set of its facts: their order and repetition
// do not matter.
func ExampleDocument_Apply() {
	begin := store.Fact{ID: "e1", TS: 1000, RunID: "r1", SessionID: "s", Begin: &store.Begin{Input: "what is on today?"}}
	call := store.Fact{ID: "e2", TS: 1500, RunID: "r1", SessionID: "s", Call: &store.Call{Name: "calendar", Result: "nothing"}}
	end := store.Fact{ID: "e3", TS: 2000, RunID: "r1", SessionID: "s", End: &store.End{Result: "Nothing today."}}

	var inOrder, shuffled store.Document
	for _, f := range []store.Fact{begin, call, end} {
		inOrder.Apply(f)
	}
	for _, f := range []store.Fact{end, call, call, begin, end} {
		fmt.Println(f.ID, "changed the document:", shuffled.Apply(f))
	}
	a, _ := inOrder.Session()
	b, _ := shuffled.Session()
	fmt.Println("same document:", string(a) == string(b))
	// Output:
	// e3 changed the document: true
	// e2 changed the document: true
	// e2 changed the document: false
	// e1 changed the document: true
	// e3 changed the document: false
	// same document: true
}

// A fact without a run id belongs to the latest turn that began at or before it.
// When a later fact shows that another turn began in between, it moves there.
func ExampleDocument_Apply_withoutRunID() {
	var d store.Document
	show := func() {
		raw, _ := d.Session()
		var doc struct {
			Current store.Turn   `json:"current"`
			History []store.Turn `json:"history"`
		}
		_ = json.Unmarshal(raw, &doc)
		for _, t := range append(doc.History, doc.Current) {
			fmt.Println(t.RunID, "has", len(t.ToolCalls), "calls")
		}
	}
	d.Apply(store.Fact{ID: "e1", TS: 1000, RunID: "r1", SessionID: "s", Begin: &store.Begin{Input: "one"}})
	d.Apply(store.Fact{ID: "e2", TS: 3000, SessionID: "s", Call: &store.Call{Name: "read"}})
	show()
	fmt.Println()
	d.Apply(store.Fact{ID: "e3", TS: 2000, RunID: "r2", SessionID: "s", Begin: &store.Begin{Input: "two"}})
	show()
	// Output:
	// r1 has 1 calls
	//
	// r1 has 0 calls
	// r2 has 1 calls
}

// Turns beyond the limit are retired: the caller appends them to an archive
// before it stores the document.
func ExampleDocument_Fold() {
	var d store.Document
	var facts []store.Fact
	for i := range int64(4) {
		id := fmt.Sprint("r", i)
		facts = append(facts, store.Fact{ID: id, TS: i * 1000, RunID: id, SessionID: "s", Begin: &store.Begin{Input: "turn " + id}})
	}
	change, err := d.Fold(facts, 1, nil) // the current turn, and one of history
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("kept:", d.Turns())
	for _, raw := range change.Retired {
		turn, _ := store.DecodeTurn(raw)
		fmt.Println("retired:", turn.RunID, turn.Timestamps.Start)
	}
	// Output:
	// kept: 2
	// retired: r0 1970-01-01T00:00:00.000Z
	// retired: r1 1970-01-01T00:00:01.000Z
}

// A list shows the current turn of a session, without decoding its history.
func ExampleSummarize() {
	var d store.Document
	d.Apply(store.Fact{ID: "e1", TS: 1000, RunID: "r1", SessionID: "s", AgentID: "main", Begin: &store.Begin{Input: "hello"}})
	d.Apply(store.Fact{ID: "e2", TS: 2000, SessionID: "s", Close: &store.Close{Reason: "reset"}})
	raw, _ := d.Session()
	s, err := store.Summarize(raw)
	fmt.Println(s.SessionID, s.AgentID, s.Turns, s.Input, s.Ended, err)
	// Output:
	// s main 1 hello reset <nil>
}
