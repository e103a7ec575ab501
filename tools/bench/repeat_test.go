package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheMedianOfRuns(t *testing.T) {
	t.Parallel()
	run := func(seconds time.Duration, of float64, known bool) table {
		out := table{Title: "Title", Columns: []string{"", "time", "ratio"}, Rows: [][]cell{{label("one"), took(seconds * time.Second), ratio(of, 1)}, {label("two"), {}, {}}}}
		if known {
			out.Rows[1] = []cell{label("two"), took(seconds * time.Second), ratio(of, 2)}
		}
		return out
	}
	runs := []table{run(3, 2.5, false), run(1, 2.125, true), run(2, 4, false)}
	got := middleOf(runs)
	require.Equal(t, []cell{label("one"), took(2 * time.Second), {"2.50 (2.12–4.00)", 2.5}}, got.Rows[0])
	require.Equal(t, []cell{label("two"), took(time.Second), ratio(2.125, 2)}, got.Rows[1], "known in one run alone")
	require.Equal(t, run(3, 2.5, false), runs[0], "the runs are unchanged")
	require.Equal(t, runs[1], middleOf(runs[1:2]), "a single run has no spread")
}

func TestSyncTime(t *testing.T) {
	t.Parallel()
	require.Positive(t, syncTime(t.TempDir()))
	require.Zero(t, syncTime("/no such directory"))
}
