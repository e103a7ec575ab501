package console

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestColumnsOfAPeriod(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 10, 26, 9, 47, 0, 0, berlin) // a day after the clocks were set back
	for _, row := range []struct {
		period, first, last string
		n                   int
		labels              []string
	}{
		{"1h", "08:50", "09:45", 12, []string{"09:00", "09:15", "09:30", "09:45"}},
		{"24h", "25 October, 10:00", "26 October, 09:00", 24, []string{"15:00", "21:00", "03:00", "09:00"}},
		{"7d", "20 October", "26 October", 7, []string{"20 Oct", "22 Oct", "24 Oct", "26 Oct"}},
		{"30d", "27 September", "26 October", 30, []string{"2 Oct", "10 Oct", "18 Oct", "26 Oct"}},
		{"", "", "", 0, nil},
	} {
		t.Run(row.period, func(t *testing.T) {
			c := columnsOf(periodOf(row.period), now, berlin)
			require.Len(t, c.starts, row.n)
			if row.n == 0 {
				_, ok := c.at(now)
				require.False(t, ok)
				return
			}
			require.Equal(t, []string{row.first, row.last}, []string{c.names[0], c.names[row.n-1]})
			var labels []string
			for _, l := range c.labels {
				if l != "" {
					labels = append(labels, l)
				}
			}
			require.Equal(t, row.labels, labels)
			require.False(t, c.starts[0].Before(now.Add(-periodOf(row.period).Length-time.Hour)), "no more is read than the period")
			i, ok := c.at(now)
			require.True(t, ok)
			require.Equal(t, row.n-1, i)
			i, ok = c.at(c.starts[1])
			require.True(t, ok)
			require.Equal(t, 1, i)
			_, ok = c.at(c.starts[0].Add(-time.Second))
			require.False(t, ok)
		})
	}
}

func TestPlots(t *testing.T) {
	c := columnsOf(periodOf("7d"), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), time.UTC)
	none := math.NaN()
	bars := stacked("a", "Turns", c, short, layer{"hint", "one", []float64{0, 1, 2, 3, 4, 5, 6}}, layer{"no hint", "three", []float64{0, 0, 0, 0, 0, 0, 4}})
	require.Equal(t, "28 November: hint 6, no hint 4", bars.Columns[6].Text)
	require.Len(t, bars.Columns[6].Bars, 2)
	require.Empty(t, bars.Columns[0].Bars)
	require.InDelta(t, plotHead, bars.Columns[6].Bars[1].Y, 1e-9, "the highest reaches the round number")
	require.InDelta(t, bars.Columns[6].Bars[0].Y, bars.Columns[6].Bars[1].Y+bars.Columns[6].Bars[1].Height, 1e-9, "one above the other")
	require.Equal(t, []string{"0", "5", "10"}, []string{bars.Scale[0].Text, bars.Scale[1].Text, bars.Scale[2].Text})
	require.Contains(t, bars.Desc, "Highest at 28 November: hint 6, no hint 4.")

	lines := lined("b", "Share", c, short, layer{"share", "one", []float64{none, 1, none, 2, 3, none, none}})
	require.Len(t, lines.Lines[0].Pieces, 2, "a gap parts them")
	require.Regexp(t, `^(\S+) (\S+)$`, lines.Lines[0].Pieces[0])
	require.Len(t, lines.Scale, 2, "no half of a day")
	empty := lined("c", "Nothing", c, short, layer{"x", "one", []float64{none, none, none, none, none, none, none}})
	require.Equal(t, "No values.", empty.Desc)
	require.Empty(t, empty.Lines[0].Pieces)
}

func TestShortNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 950: "950", 1200: "1.2k", 3e6: "3M", 2.5e9: "2.5G"} {
		require.Equal(t, want, short(v))
	}
	for v, want := range map[float64]float64{0: 1, 1: 1, 3: 5, 10: 10, 11: 20, 0.3: 0.5, 900: 1000} {
		require.InDelta(t, want, round(v), 1e-9, "%v", v)
	}
}
