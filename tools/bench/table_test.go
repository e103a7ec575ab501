package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = (i*37)%100 + 1 // 1 to 100 in mixed order
	}
	tests := []struct {
		name string
		list []int
		at   float64
		want int
	}{
		{"empty", nil, 0.5, 0},
		{"one", []int{7}, 0.99, 7},
		{"middle of three", []int{9, 1, 5}, 0.5, 5},
		{"upper middle of four", []int{4, 1, 3, 2}, 0.5, 3},
		{"p50", hundred, 0.5, 51},
		{"p90", hundred, 0.9, 91},
		{"p99", hundred, 0.99, 100},
		{"minimum", hundred, 0, 1},
		{"maximum", hundred, 1, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			given := append([]int(nil), tt.list...)
			require.Equal(t, tt.want, quantile(tt.list, tt.at))
			require.Equal(t, given, append([]int(nil), tt.list...), "the list is unchanged")
		})
	}
	require.Equal(t, 2.5, median([]float64{9, 2.5, 1}))
}

func TestDurationText(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0 ns":    0,
		"999 ns":  999,
		"1 µs":    1000,
		"426 µs":  426_100,
		"1.00 ms": time.Millisecond,
		"1.22 ms": 1_222_000,
		"10.0 ms": 9_999_000,
		"23.4 ms": 23_400_000,
		"100 ms":  99_990_000,
		"257 ms":  257 * time.Millisecond,
		"1.50 s":  1500 * time.Millisecond,
		"90.0 s":  90 * time.Second,
		"3600 s":  time.Hour,
	} {
		require.Equal(t, want, durationText(d))
	}
}

func TestUnknownFigures(t *testing.T) {
	t.Parallel()
	require.Equal(t, cell{}, ratio(1, 0))
	require.Equal(t, cell{}, ratio(0, 0))
	require.Equal(t, cell{}, ratio(0, 1))
	require.Equal(t, cell{}, took(0))
	require.Equal(t, cell{}, size(0))
	require.Equal(t, "–", cell{}.String())
}

func TestTable(t *testing.T) {
	t.Parallel()
	given := table{
		Title: "Title", Note: "A note.", Columns: []string{"", "time", "ratio"},
		Rows: [][]cell{
			{label("%d of one", 3), took(1500 * time.Microsecond), ratio(3, 2)},
			{label("other"), perSecond(1234.5), {}},
			{label("memory"), size(50 << 20), ratio(1, 3)},
		},
	}
	var out strings.Builder
	given.markdown(&out)
	require.Equal(t, `
### Title

A note.

|  | time | ratio |
|---|---|---|
| 3 of one | 1.50 ms | 1.50 |
| other | 1234/s | – |
| memory | 50 MiB | 0.33 |
`, out.String())
	data, err := json.Marshal(given)
	require.NoError(t, err)
	require.JSONEq(t, `{"title": "Title", "note": "A note.", "columns": ["", "time", "ratio"], "rows": [
		["3 of one", 0.0015, 1.5], ["other", 1234.5, null], ["memory", 52428800, 0.3333333333333333]]}`, string(data))
}
