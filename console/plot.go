package console

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Size of a plot, in units of its view box. They are about pixels, so that its labels are
// readable on a phone too.
const (
	plotWidth  = 260
	plotHeight = 112
	plotLeft   = 46 // room for the scale
	plotRight  = 14 // room for half of the last time
	plotFoot   = 18 // room for the times
	plotHead   = 10
)

// columns divide a period up to now.
type columns struct {
	starts []time.Time
	// labels are below the columns, "" for none; names say which time each is.
	labels, names []string
}

// columnsOf divides a period: the last hour into 5 minutes, a day into hours, more into
// days of a time zone.
func columnsOf(p period, now time.Time, in *time.Location) columns {
	const day = 24 * time.Hour // of a period; a day of a time zone may have an hour more or less
	now = now.In(in)
	var n, every int
	label, name := "2 Jan", "2 January"
	var start func(back int) time.Time
	switch p.Length {
	case time.Hour:
		n, every, label, name = 12, 3, "15:04", "15:04"
		last := now.Truncate(5 * time.Minute)
		start = func(back int) time.Time { return last.Add(-time.Duration(back) * 5 * time.Minute) }
	case day:
		n, every, label, name = 24, 6, "15:04", "2 January, 15:04"
		last := now.Truncate(time.Hour)
		start = func(back int) time.Time { return last.Add(-time.Duration(back) * time.Hour) }
	default:
		n = int(p.Length / day)
		every = (n + 3) / 4 // four labels fit
		start = func(back int) time.Time { return time.Date(now.Year(), now.Month(), now.Day()-back, 0, 0, 0, 0, in) }
	}
	var c columns
	for i := range n {
		at := start(n - 1 - i)
		c.starts, c.names, c.labels = append(c.starts, at), append(c.names, at.Format(name)), append(c.labels, "")
		if (n-1-i)%every == 0 {
			c.labels[i] = at.Format(label)
		}
	}
	return c
}

// at returns the column of a time; ok is false for one before all of them.
func (c *columns) at(t time.Time) (i int, ok bool) {
	i = sort.Search(len(c.starts), func(i int) bool { return c.starts[i].After(t) }) - 1
	return i, i >= 0
}

// layer is one of the values that a plot shows, with one for each column.
type layer struct {
	Name string
	// Class is that of its colour: "one", "two" or "three".
	Class  string
	Values []float64
}

// plot is a chart of values over time: columns, one layer above the other, or lines.
type plot struct {
	ID, Title, Desc string
	Layers          []layer
	Columns         []plotColumn
	Lines           []plotLine
	Scale           []plotLabel
}

// plotColumn is a column of a plot: bars and a label, "" for none. Text are its values in
// words.
type plotColumn struct {
	X, Width, Middle float64
	Label, Text      string
	Bars             []plotBar
}

type plotBar struct {
	Class     string
	Y, Height float64
}

// plotLine is a line through the columns that have a value, in as many pieces as it has
// gaps; a piece of one column is a point.
type plotLine struct {
	Class  string
	Pieces []string
}

type plotLabel struct {
	Y    float64
	Text string
}

// ViewBox returns the view box of the SVG.
func (plot) ViewBox() string { return fmt.Sprintf("0 0 %d %d", plotWidth, plotHeight) }

// Left and Right are the ends of its lines.
func (plot) Left() int { return plotLeft }

// Right is the other end.
func (plot) Right() int { return plotWidth - plotRight }

// Foot is the baseline of the times, Edge the right end of the scale's labels.
func (plot) Foot() int { return plotHeight - 4 }

// Edge is the right end of the scale's labels.
func (plot) Edge() int { return plotLeft - 6 }

// Top and Tall are where the columns stand.
func (plot) Top() int { return plotHead }

// Tall is the height of the columns.
func (plot) Tall() int { return plotHeight - plotFoot - plotHead }

// stacked shows layers as columns, one above the other.
func stacked(id, title string, c columns, show func(float64) string, layers ...layer) plot {
	p := newPlot(id, title, c, show, layers)
	most := 0.0
	for i := range p.Columns {
		sum := 0.0
		for _, l := range layers {
			sum += l.Values[i]
		}
		most = max(most, sum)
	}
	y := p.scale(most, show)
	for i := range p.Columns {
		sum := 0.0
		for _, l := range layers {
			if v := l.Values[i]; v > 0 {
				p.Columns[i].Bars = append(p.Columns[i].Bars, plotBar{l.Class, y(sum + v), y(sum) - y(sum+v)})
				sum += v
			}
		}
	}
	return p
}

// lined shows layers as lines; a value that is not a number is a gap.
func lined(id, title string, c columns, show func(float64) string, layers ...layer) plot {
	p := newPlot(id, title, c, show, layers)
	most := 0.0
	for _, l := range layers {
		for _, v := range l.Values {
			if v > most { // also if one is not a number
				most = v
			}
		}
	}
	y := p.scale(most, show)
	for _, l := range layers {
		line, points := plotLine{Class: l.Class}, []string(nil)
		end := func() {
			if len(points) == 1 {
				points = append(points, points[0])
			}
			if len(points) > 0 {
				line.Pieces = append(line.Pieces, strings.Join(points, " "))
			}
			points = nil
		}
		for i, v := range l.Values {
			if math.IsNaN(v) {
				end()
				continue
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", p.Columns[i].Middle, y(v)))
		}
		end()
		p.Lines = append(p.Lines, line)
	}
	return p
}

// newPlot lays out the columns, with their values in words.
func newPlot(id, title string, c columns, show func(float64) string, layers []layer) plot {
	p := plot{ID: id, Title: title, Layers: layers}
	step := float64(plotWidth-plotLeft-plotRight) / float64(max(len(c.starts), 1))
	best, said := -1.0, ""
	for i := range c.starts {
		var words []string
		sum := 0.0
		for _, l := range layers {
			if v := l.Values[i]; !math.IsNaN(v) {
				words = append(words, l.Name+" "+show(v))
				sum += v
			}
		}
		column := plotColumn{
			X: plotLeft + (float64(i)+0.1)*step, Width: 0.8 * step, Middle: plotLeft + (float64(i)+0.5)*step,
			Label: c.labels[i], Text: c.names[i] + ": " + strings.Join(words, ", "),
		}
		if sum > best && len(words) > 0 {
			best, said = sum, column.Text
		}
		p.Columns = append(p.Columns, column)
	}
	if p.Desc = "No values."; best > 0 {
		p.Desc = fmt.Sprintf("From %s to %s. Highest at %s.", c.names[0], c.names[len(c.names)-1], said)
	}
	return p
}

// scale sets the labels of the scale, from 0 to a round number, and returns where a value
// stands.
func (p *plot) scale(most float64, show func(float64) string) func(v float64) float64 {
	const room = plotHeight - plotFoot - plotHead
	top := round(most)
	y := func(v float64) float64 { return plotHead + room*(1-v/top) }
	for _, v := range []float64{0, top / 2, top} {
		if v == math.Trunc(v) || top < 2 {
			p.Scale = append(p.Scale, plotLabel{y(v), show(v)})
		}
	}
	return y
}

// round returns the least of 1, 2, 5 and 10 times a power of ten that is not below v; 1
// for 0.
func round(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, times := range []float64{1, 2, 5} {
		if v <= times*unit {
			return times * unit
		}
	}
	return 10 * unit
}

// short formats a number in a few characters: 950, 1.2k, 3M.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return strconv.FormatFloat(math.Round(v/unit.size*10)/10, 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}
