package console

import (
	"fmt"
	"strconv"
	"time"

	"intenthint/record"
)

// Size of a chart, in units of its view box. It is as wide as its column.
const (
	chartWidth  = 360
	chartHeight = 120
	// chartFoot is the room for the labels below the bars, chartHead the room
	// above them.
	chartFoot = 18
	chartHead = 16
	// shownDays is how many days a chart shows: more bars would be too narrow for a
	// phone.
	shownDays = 31
)

// chart is a bar chart.
type chart struct {
	ID, Title string
	// Desc describes the bars in words.
	Desc string
	Bars []bar
	// Max is the value of the highest bar.
	Max int
}

// bar is a bar of a chart, in units of its view box.
type bar struct {
	X, Y, Width, Height float64
	// Low is the height of the part for corrected turns.
	Low float64
	// Label is below the bar, "" for none; Text is its value in words.
	Label, Text string
	// Middle is where the label is centred.
	Middle float64
}

// ViewBox returns the view box of the SVG.
func (chart) ViewBox() string { return fmt.Sprintf("0 0 %d %d", chartWidth, chartHeight) }

// Base returns the bottom of the bars.
func (chart) Base() int { return chartHeight - chartFoot }

// Foot returns the baseline of the labels.
func (chart) Foot() int { return chartHeight - 4 }

// End returns the right edge.
func (chart) End() int { return chartWidth }

// value is the data of a bar.
type value struct {
	n, low      int
	label, text string
}

// bars lays out values.
func (c *chart) bars(values []value) {
	for _, v := range values {
		c.Max = max(c.Max, v.n)
	}
	if c.Max == 0 {
		return
	}
	const room = chartHeight - chartFoot - chartHead
	step := float64(chartWidth) / float64(len(values))
	for i, v := range values {
		height := room * float64(v.n) / float64(c.Max)
		c.Bars = append(c.Bars, bar{
			X: float64(i)*step + step*0.1, Width: step * 0.8, Y: chartHeight - chartFoot - height, Height: height,
			Low: room * float64(v.low) / float64(c.Max), Label: v.label, Text: v.text, Middle: (float64(i) + 0.5) * step,
		})
	}
}

// LowY returns where the part for corrected turns begins.
func (b bar) LowY() float64 { return b.Y + b.Height - b.Low }

// dayChart shows turns per day. days are in order; days without turns between
// them are shown too.
func dayChart(days []record.Tally) chart {
	c := chart{ID: "days", Title: "Turns per day"}
	var values []value
	var last time.Time
	total := 0
	for _, d := range days {
		day, err := time.Parse(time.DateOnly, d.Name)
		if err != nil {
			continue
		}
		for !last.IsZero() && last.AddDate(0, 0, 1).Before(day) && len(values) < 10*shownDays {
			last = last.AddDate(0, 0, 1)
			values = append(values, value{label: last.Format("2 Jan"), text: last.Format("2 January") + ": 0 turns"})
		}
		last = day
		text := day.Format("2 January") + ": " + plural(d.Turns, "turn")
		if d.Corrected > 0 {
			text += ", " + strconv.Itoa(d.Corrected) + " marked wrong"
		}
		values = append(values, value{d.Turns, d.Corrected, day.Format("2 Jan"), text})
	}
	values = values[max(len(values)-shownDays, 0):]
	best := value{}
	for i := range values {
		total += values[i].n
		if values[i].n > best.n {
			best = values[i]
		}
		if i%((len(values)+5)/6) != 0 { // six labels fit
			values[i].label = ""
		}
	}
	c.Desc = fmt.Sprintf("A bar for each of %s, %s in all.", plural(len(values), "day"), plural(total, "turn"))
	if best.n > 0 {
		c.Desc += " Most on " + best.text + "."
	}
	c.bars(values)
	return c
}

// confidenceChart shows the distribution of the classifier's confidence.
func confidenceChart(bins [10]int) chart {
	c := chart{ID: "confidences", Title: "Confidence"}
	values := make([]value, len(bins))
	total, sure := 0, 0
	for i, n := range bins {
		values[i] = value{n: n, label: fmt.Sprintf("0.%d", i), text: fmt.Sprintf("%.1f to %.1f: %s", float64(i)/10, float64(i+1)/10, plural(n, "turn"))}
		total += n
		if i >= 8 {
			sure += n
		}
	}
	c.Desc = fmt.Sprintf("A bar for each tenth from 0 to 1. %d of %s have 0.8 or more.", sure, plural(total, "turn"))
	c.bars(values)
	return c
}
