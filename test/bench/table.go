package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// table is what a part of the benchmark found.
type table struct {
	Title   string   `json:"title"`
	Note    string   `json:"note,omitempty"`
	Columns []string `json:"columns"`
	Rows    [][]cell `json:"rows"`
}

// cell is a place in a table: a label, or a figure in seconds, bytes, per
// second or as a plain number. The zero cell is a figure that is not known.
type cell struct {
	text  string
	value any // nil, a string or a float64
}

// MarshalJSON gives the figure without its unit.
func (c cell) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

func (c cell) String() string { return cmp.Or(c.text, "–") }

func label(format string, args ...any) cell {
	text := fmt.Sprintf(format, args...)
	return cell{text, text}
}

func took(d time.Duration) cell { return cell{durationText(d), d.Seconds()} }

func perSecond(rate float64) cell { return cell{fmt.Sprintf("%.0f/s", rate), rate} }

func size(bytes int64) cell {
	return cell{fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)), float64(bytes)}
}

// ratio is not known when there is nothing to divide by.
func ratio(a, b float64) cell {
	r := a / b
	if b == 0 || math.IsNaN(r) {
		return cell{}
	}
	return cell{fmt.Sprintf("%.2f", r), r}
}

// each is a time per piece, not known when it is below what the system's
// accounting of processor time can tell.
func each(d time.Duration, pieces int) cell {
	if d <= 0 || pieces == 0 {
		return cell{}
	}
	return took(d / time.Duration(pieces))
}

// durationText has three digits, or all in front of the point.
func durationText(d time.Duration) string {
	unit, name := time.Second, "s"
	switch {
	case d < time.Microsecond:
		unit, name = time.Nanosecond, "ns"
	case d < time.Millisecond:
		unit, name = time.Microsecond, "µs"
	case d < time.Second:
		unit, name = time.Millisecond, "ms"
	}
	v := float64(d) / float64(unit)
	digits := 0
	switch {
	case v < 9.995 && unit > time.Microsecond:
		digits = 2
	case v < 99.95 && unit > time.Microsecond:
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, name)
}

// markdown writes the table as Markdown.
func (t table) markdown(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", t.Title)
	if t.Note != "" {
		fmt.Fprintf(w, "%s\n\n", t.Note)
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(t.Columns, " | "), strings.Repeat("---|", len(t.Columns)))
	for _, row := range t.Rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = c.String()
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(texts, " | "))
	}
}

// quantile is the value below which the given part of the list lies, 0 for an
// empty list.
func quantile[T cmp.Ordered](list []T, at float64) T {
	if len(list) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(float64(len(sorted))*at), len(sorted)-1)]
}

func median[T cmp.Ordered](list []T) T { return quantile(list, 0.5) }
