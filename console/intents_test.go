package console_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/payload"
	"intenthint/store"
)

func TestIntentsAreCounted(t *testing.T) {
	s := emptySite(t)
	require.Contains(t, body(t, s.get("/intents")), "No turns in the last 7 days.")

	s = emptySite(t)
	y, m, d := time.Now().Date()
	now := time.Date(y, m, d, 12, 0, 0, 0, time.Local) // a minute before is the same day
	add := func(run, intent string, confidence float64, ago time.Duration, reason string) {
		r := consoletest.Result(intent, confidence)
		r.Reason = reason
		s.System.Keep(consoletest.Begin("s", run, "text", now.Add(-ago), r))
	}
	const day = 24 * time.Hour
	add("a", "CODE_REVIEW", 0.95, time.Minute, "close to the example “is this safe to merge”")
	add("b", "CODE_REVIEW", 0.85, time.Minute, "follows “close to the example “x””: close to the example “is this safe to merge”")
	add("c", "CODE_REVIEW", 0.35, 2*day, "close to the example “review my branch”")
	add("d", "CHAT", 1, 4*day, "“hello” spoke for it")
	add("old", "TRANSLATION", 0.9, 20*day, "close to the example “say it in French”")
	s.System.Keep(
		consoletest.Begin("s", "none", "text", now.Add(-time.Minute), nil),
		store.Fact{ID: "f", TS: now.UnixMilli(), RunID: "c", SessionID: "s", Feedback: &store.Feedback{Verdict: payload.VerdictWrong}},
		store.Fact{ID: "g", TS: now.UnixMilli(), RunID: "d", SessionID: "s", Feedback: &store.Feedback{Verdict: payload.VerdictRight}},
	)
	page := body(t, s.get("/intents"))
	require.Contains(t, page, "5 turns of 1 session in the last 7 days. 1 marked right, 1 wrong; 1 below a confidence of 0.50.")
	var rows []string
	for _, row := range strings.Split(page, "<tr>")[2:] {
		text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(row[:strings.Index(row, "</tr>")], "</td>", " "), "")
		rows = append(rows, strings.Join(strings.Fields(text), " "))
	}
	require.Equal(t, []string{
		"CODE_REVIEW Code Review is this safe to merge 2review my branch 1 3 60% 0.72 1 0 1",
		"no answer 1 20% – 0 0 0",
		"CHAT Chat 1 20% 1.00 0 1 0",
	}, rows)
	require.Contains(t, page, `href="/turns?feedback=wrong&amp;intent=CODE_REVIEW&amp;since=7d"`)
	require.Contains(t, page, "42 intents without a turn")
	require.Contains(t, body(t, s.get("/intents?since=30d")), "TRANSLATION</a>")

	// The charts.
	for _, want := range []string{
		`<title id="days-title">Turns per day</title>`, "A bar for each of 5 days, 5 turns in all. Most on", "3 turns", ": 0 turns</title>", ": 1 turn, 1 marked wrong</title>",
		`<title id="confidences-title">Confidence</title>`, "A bar for each tenth from 0 to 1. 3 of 4 turns have 0.8 or more.", "<title>0.9 to 1.0: 2 turns</title>", "<title>0.5 to 0.6: 0 turns</title>",
	} {
		require.Contains(t, page, want)
	}
	require.Equal(t, 1, strings.Count(page, `class="low"`))
}

func TestTurnsAreCountedOnceAMinute(t *testing.T) {
	s := emptySite(t)
	keep := func(run string) {
		s.System.Keep(consoletest.Begin("s", run, "text", time.Now().Add(-time.Minute), consoletest.Result("CHAT", 0.9)))
	}
	keep("a")
	require.Contains(t, body(t, s.get("/intents")), "1 turn of")
	keep("b")
	require.Contains(t, body(t, s.get("/intents")), "1 turn of", "as counted before")
	require.Contains(t, body(t, s.get("/intents?since=24h")), "2 turns of", "another period")
}

func TestTheBoundOfACountIsStated(t *testing.T) {
	if testing.Short() {
		t.Skip("stores 25,000 turns")
	}
	s := emptySite(t)
	const turns = 5001
	for i := range 5 {
		var facts []store.Fact
		for j := range turns {
			facts = append(facts, consoletest.Begin(fmt.Sprint("s", i), fmt.Sprint("r", j), "text", time.Now().Add(-time.Minute), nil))
		}
		require.NoError(t, s.System.Sessions.Apply(t.Context(), facts))
	}
	page := body(t, s.get("/intents?since=24h"))
	require.Contains(t, page, "20004 turns of 4 sessions")
	require.Contains(t, page, "Only the sessions that changed last were counted, up to 20000 turns")
}

func TestMarkupInIntentsStaysText(t *testing.T) {
	const markup = `</td></table>"'><script>alert(1)</script><img src=x onerror=alert(1)>`
	s := emptySite(t)
	r := consoletest.Result(markup, 0.9)
	r.Reason = "close to the example “" + markup + "”"
	s.System.Keep(consoletest.Begin("s", "r", markup, time.Now(), r))
	page := body(t, s.get("/intents"))
	require.Equal(t, 1, strings.Count(page, "<script"))
	require.NotContains(t, page, "<img")
	require.Equal(t, 2, strings.Count(page, "&lt;img src=x onerror=alert(1)&gt;"))
}
