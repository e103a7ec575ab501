//go:build unix

package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"intenthint/payload"
	"intenthint/store"
)

// sessionFiles writes the files of sessions of some turns, as the store does, but
// without syncing each.
func sessionFiles(t testing.TB, dir string, sessions, turns int) {
	t.Helper()
	d := &store.Document{}
	for i := range turns {
		d.Apply(store.Fact{
			ID: fmt.Sprint("e", i), TS: 1763680000000 + int64(i), RunID: fmt.Sprint("r", i), SessionID: "SESSION", SessionKey: "agent:main:telegram:direct:SESSION", AgentID: "main",
			Begin: &store.Begin{Input: "is this safe to merge? " + strings.Repeat("more of it ", 10), Result: &payload.Classification{Intent: "CODE_REVIEW", Reason: strings.Repeat("why ", 20), Confidence: 0.9}},
		})
	}
	raw, err := d.Session()
	if err != nil {
		t.Fatal(err)
	}
	for i := range sessions {
		name := fmt.Sprintf("s%05d", i)
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(strings.ReplaceAll(string(raw), "SESSION", name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkList is a list of 10,000 sessions of ten turns, about 5 kB each: the first
// one of a process, and one in which nothing, or a hundredth, has changed.
func BenchmarkList(b *testing.B) {
	s, err := Open(b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	sessionFiles(b, s.Dir(), 10_000, 10)
	list := func(b *testing.B) {
		if found, err := s.List(b.Context()); err != nil || len(found) != 10_000 {
			b.Fatal(len(found), err)
		}
	}
	for _, row := range []struct {
		name   string
		before func(round int)
	}{
		{"first", func(int) { s.summaries = summaries{} }},
		{"unchanged", func(int) {}},
		{"changed", func(round int) {
			at := time.Now().Add(time.Duration(round) * time.Second)
			for i := range 100 {
				if err := os.Chtimes(s.path(fmt.Sprintf("s%05d", 100*i), sessionSuffix), at, at); err != nil {
					b.Fatal(err)
				}
			}
		}},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			list(b)
			var spent time.Duration
			round := 0
			for b.Loop() {
				round++
				row.before(round)
				began := processorTime()
				list(b)
				spent += processorTime() - began
			}
			b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
