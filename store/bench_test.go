package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/store"
)

// session returns a document with turns of an ordinary size, about 2 KB each.
func session(turns int) (*store.Document, []store.Fact) {
	var facts []store.Fact
	for i := range int64(turns) {
		run := fmt.Sprintf("run-%04d", i)
		begin := store.Fact{ID: "b" + run, TS: i * 1000, RunID: run, SessionID: "s", Begin: &store.Begin{
			Input: strings.Repeat("word ", 20),
			Conversation: []payload.Turn{
				{Role: "user", Text: strings.Repeat("ask ", 40)}, {Role: "assistant", Text: strings.Repeat("tell ", 40)},
			},
			Result: &payload.Classification{Intent: "NOTE", Name: "Note", Reason: "a reason", Goal: "a goal", Confidence: 0.9, Complexity: "low", Source: "llm"},
		}}
		facts = append(facts, begin)
		for j := range int64(3) {
			facts = append(facts, store.Fact{ID: fmt.Sprint("c", i, "-", j), TS: i*1000 + j, RunID: run, SessionID: "s", Call: &store.Call{
				ToolCallID: fmt.Sprint("call-", j), Name: "read", Params: json.RawMessage(`{"path":"notes/today.md"}`),
				Result: strings.Repeat("x", 150), DurationMs: 3,
			}})
		}
		facts = append(facts, end(i*1000+500, run))
	}
	d := &store.Document{}
	for _, f := range facts {
		d.Apply(f)
	}
	return d, facts
}

func end(ts int64, run string) store.Fact {
	return store.Fact{ID: fmt.Sprint("end-", ts), TS: ts, RunID: run, SessionID: "s", End: &store.End{Result: strings.Repeat("done ", 40)}}
}

// One event of the current turn, folded and encoded.
func BenchmarkFold(b *testing.B) {
	for _, turns := range []int{5, 200} {
		b.Run(fmt.Sprint(turns, "-turns"), func(b *testing.B) {
			d, _ := session(turns)
			_, err := d.Session()
			require.NoError(b, err)
			run, ts := fmt.Sprintf("run-%04d", turns-1), int64(turns*1000)
			b.ReportAllocs()
			for b.Loop() {
				ts++
				if !d.Apply(end(ts, run)) {
					b.Fatal("the event changed nothing")
				}
				raw, err := d.Session()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(raw)))
			}
		})
	}
}

// A document that another process has written.
func BenchmarkDecode(b *testing.B) {
	for _, turns := range []int{5, 200} {
		b.Run(fmt.Sprint(turns, "-turns"), func(b *testing.B) {
			d, _ := session(turns)
			raw, err := d.Session()
			require.NoError(b, err)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A document that another process has changed by one event.
func BenchmarkRedecode(b *testing.B) {
	for _, turns := range []int{5, 200} {
		b.Run(fmt.Sprint(turns, "-turns"), func(b *testing.B) {
			earlier, _ := session(turns)
			_, err := earlier.Session()
			require.NoError(b, err)
			later, _ := session(turns)
			later.Apply(end(int64(turns*1000), fmt.Sprintf("run-%04d", turns-1)))
			raw, err := later.Session()
			require.NoError(b, err)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Redecode(raw, earlier); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One line in a list of sessions.
func BenchmarkSummarize(b *testing.B) {
	d, _ := session(200)
	raw, err := d.Session()
	require.NoError(b, err)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Summarize(raw); err != nil {
			b.Fatal(err)
		}
	}
}
