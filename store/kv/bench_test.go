package kv_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"intenthint/internal/natstest"
	"intenthint/store"
	"intenthint/store/kv"
	"intenthint/store/storetest"
)

func fill(b *testing.B, s store.Applier, turns int) {
	b.Helper()
	for i := range int64(turns) {
		run := fmt.Sprint("r", i)
		begin := storetest.Begin("s", run, i*1000)
		begin.Begin.Conversation[0].Text = strings.Repeat("earlier ", 50)
		facts := []store.Fact{begin}
		for j := range int64(3) {
			call := storetest.Call("s", run, i*1000+j)
			call.Call.Params, call.Call.Result = json.RawMessage(`{"path":"notes/today.md"}`), strings.Repeat("x", 150)
			facts = append(facts, call)
		}
		apply(b, s, append(facts, storetest.End("s", run, i*1000+500))...)
	}
}

// newSyncedServer starts a server that syncs every write, as the embedded one
// does.
func newSyncedServer(b *testing.B) *server.Server {
	b.Helper()
	return natstest.Start(b, &server.Options{JetStream: true, SyncAlways: true})
}

// One event of the current turn, from the call until it is on disk.
func BenchmarkApply(b *testing.B) {
	for _, turns := range []int{5, 200} {
		for _, processes := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d-turns/%d-processes", turns, processes), func(b *testing.B) {
				ns := newSyncedServer(b)
				var handles []*kv.Store
				for range processes {
					handles = append(handles, open(b, connect(b, ns), store.Options{HistoryLimit: 200}))
				}
				fill(b, handles[0], turns)
				run, n := fmt.Sprint("r", turns-1), int64(turns*1000)
				b.ReportAllocs()
				for b.Loop() {
					n++
					if err := handles[int(n)%processes].Apply(b.Context(), []store.Fact{storetest.End("s", run, n)}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// An event of a run that never becomes a turn.
func BenchmarkApplyUntracked(b *testing.B) {
	s := open(b, connect(b, newSyncedServer(b)), store.Options{HistoryLimit: 200})
	n := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		if err := s.Apply(b.Context(), []store.Fact{storetest.Call("s", "cron", n)}); err != nil {
			b.Fatal(err)
		}
	}
}

// A turn that begins while the history is full, so that one is retired.
func BenchmarkApplyRetiring(b *testing.B) {
	s := open(b, connect(b, newSyncedServer(b)), store.Options{HistoryLimit: 200})
	fill(b, s, 201)
	n := int64(201_000)
	b.ReportAllocs()
	for b.Loop() {
		n++
		if err := s.Apply(b.Context(), []store.Fact{storetest.Begin("s", fmt.Sprint("r", n), n)}); err != nil {
			b.Fatal(err)
		}
	}
}
