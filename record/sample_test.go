package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/record"
	"intenthint/store"
)

func answeredRun(i int, confidence float64) *store.Turn {
	return &store.Turn{RunID: fmt.Sprint("r", i), Input: "hello", Intent: store.Intent{Result: classified("CHAT", confidence, "local")}}
}

// entries are n turns, of which every fourth is as sure as 0.9 and the others 0.2.
func entries(n int) (all []record.Entry) {
	for i := range n {
		s := store.Summary{Token: fmt.Sprint("s", i%97), SessionID: fmt.Sprint("s", i%97)}
		confidence := 0.2
		if i%4 == 0 {
			confidence = 0.9
		}
		turn := answeredRun(i, confidence)
		turn.Begin.TS = int64(i)
		all = append(all, record.Entry{Session: s, Turn: record.NewTurn(s, turn, 0.6)})
	}
	return all
}

func names(of []record.Entry) (out []string) {
	for _, e := range of {
		out = append(out, e.RunID)
	}
	return out
}

func TestDrawIsBlindToConfidence(t *testing.T) {
	t.Parallel()
	all := entries(8000)
	drawn := record.Draw(all, 1000)
	require.Len(t, drawn, 1000)
	sure := 0
	for _, e := range drawn {
		if *e.Confidence > 0.5 {
			sure++
		}
	}
	// A quarter is sure; a fair draw of 1,000 is off by 50 once in 4,000 times.
	require.InDelta(t, 250, sure, 50)
	require.Subset(t, names(drawn), names(record.Draw(all, 100)), "a larger draw holds a smaller one")
	require.Less(t, drawn[0].TS, drawn[1].TS, "oldest first")
	unanswered := store.Turn{RunID: "r", Input: "hello"}
	require.Empty(t, record.Draw([]record.Entry{{Turn: record.NewTurn(store.Summary{}, &unanswered, 0.6)}}, 5))
}

func TestSampleInStats(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).UnixMilli()
	counted := func(verdicts map[string]string) record.SampleReport {
		stats := record.NewStats(record.StatsOptions{MinConfidence: 0.6})
		for i := range 100 {
			run := fmt.Sprint("r", i)
			turn := answeredRun(i, 0.9)
			turn.Begin.TS = day + int64(i%2)*24*3600*1000
			if v := verdicts[run]; v != "" {
				turn.Feedback = &store.Judgement{Feedback: store.Feedback{Verdict: v}}
			}
			stats.Add(store.Summary{Token: "s"}, turn)
		}
		return stats.Report().Sample
	}
	require.Equal(t, record.SampleReport{PerDay: 10, Drawn: 20}, counted(nil))

	var all []record.Entry
	for i := range 100 {
		turn := answeredRun(i, 0.9)
		all = append(all, record.Entry{Session: store.Summary{Token: "s"}, Turn: record.NewTurn(store.Summary{Token: "s"}, turn, 0.6)})
	}
	verdicts := map[string]string{}
	for i, run := range names(record.Draw(all, 10)) {
		verdicts[run] = payload.VerdictRight
		if i == 0 {
			verdicts[run] = payload.VerdictWrong
		}
	}
	got := counted(verdicts)
	require.Equal(t, []int{20, 10, 9}, []int{got.Drawn, got.Marked, got.Right})
	require.InDelta(t, 0.9, *got.Accuracy, 1e-9)
	require.InDeltaSlice(t, []float64{0.5958, 0.9821}, got.Interval[:], 1e-4, "Wilson's interval of 9 of 10")

	undrawn := map[string]string{}
	for i := range 100 {
		undrawn[fmt.Sprint("r", i)] = payload.VerdictWrong
	}
	require.Equal(t, 20, counted(undrawn).Marked, "marks of other turns do not count")
}
