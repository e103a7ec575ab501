package console_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/store"
)

var (
	timelineOf = regexp.MustCompile(`(?s)<ol class="timeline".*?</ol>`)
	momentOf   = regexp.MustCompile(`<li><time [^>]*>(-?\d+ ms)</time> <span>(.*)</span></li>`)
	tagOf      = regexp.MustCompile(`<[^>]*>`)
)

func TestATurnHasItsTimeline(t *testing.T) {
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	fact := func(id string, after int64, f store.Fact) store.Fact {
		f.ID, f.TS, f.RunID, f.SessionID = id, at.UnixMilli()+after, "r", "s"
		return f
	}
	result := consoletest.Result("CHAT", 0.9)
	result.ElapsedMs = 120
	asked := consoletest.Begin("s", "r", "text", at, result)
	unchanged := consoletest.Begin("s", "r", "text", at, result)
	unchanged.Begin.Skip = "unchanged"
	failed := consoletest.Begin("s", "r", "text", at, nil)
	failed.Begin.Skip = "classify_failed"
	again := consoletest.Begin("s", "r", "text", at.Add(2*time.Second), result)
	again.ID = "again"
	calls := []store.Fact{
		fact("c", 5000, store.Fact{Call: &store.Call{ToolCallID: "c", Name: "second", DurationMs: 1500, Error: "no"}}),
		fact("b", 3000, store.Fact{Call: &store.Call{ToolCallID: "b", Name: "first", DurationMs: 1000}}),
		fact("e", 6200, store.Fact{End: &store.End{Result: "done"}}),
	}
	for _, row := range []struct {
		name  string
		facts []store.Fact
		want  []string
	}{
		{"with tools and an end", append([]store.Fact{asked}, calls...), []string{
			"0 ms asked", "120 ms classified local took 120ms", "120 ms answered hint",
			"2000 ms tool first took 1s", "3500 ms tool second took 1.5s failed", "6200 ms end",
		}},
		{"still running", []store.Fact{asked}, []string{"0 ms asked", "120 ms classified local took 120ms", "120 ms answered hint"}},
		{"no hint", []store.Fact{unchanged}, []string{"0 ms asked", "120 ms classified local took 120ms", "120 ms answered no hint: unchanged"}},
		{"not classified", []store.Fact{failed}, []string{"0 ms asked", "0 ms answered no hint: classify_failed"}},
		{"classified at the second attempt", []store.Fact{failed, again}, []string{"0 ms asked", "2120 ms classified local took 120ms", "2120 ms answered hint"}},
		{"failed", []store.Fact{asked, fact("e", 900, store.Fact{End: &store.End{Error: "no"}})}, []string{
			"0 ms asked", "120 ms classified local took 120ms", "120 ms answered hint", "900 ms end failed",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := emptySite(t)
			s.System.Keep(row.facts...)
			var got []string
			for _, m := range momentOf.FindAllStringSubmatch(timelineOf.FindString(body(t, s.get("/sessions/s"))), -1) {
				got = append(got, m[1]+" "+tagOf.ReplaceAllString(m[2], ""))
			}
			require.Equal(t, row.want, got)
		})
	}
}
