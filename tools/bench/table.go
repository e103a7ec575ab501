package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// table is the result of a part of the benchmark.
type table struct {
	Title   string   `json:"title"`
	Note    string   `json:"note,omitempty"`
	Columns []string `json:"columns"`
	Rows    [][]cell `json:"rows"`
}

// cell is a label, or a figure in seconds, bytes, per second or as a plain number.
// The zero cell is an unknown figure.
type cell struct {
	text  string
	value any // nil, a string or a float64
}

// MarshalJSON encodes the figure without its unit.
func (c cell) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

func (c cell) String() string { return cmp.Or(c.text, "–") }

func label(format string, args ...any) cell {
	text := fmt.Sprintf(format, args...)
	return cell{text, text}
}

// took is not known below what the system's accounting of processor time can
// tell.
func took(d time.Duration) cell {
	if d <= 0 {
		return cell{}
	}
	return cell{durationText(d), d.Seconds()}
}

func perSecond(rate float64) cell { return cell{fmt.Sprintf("%.0f/s", rate), rate} }

// size is not known when it is 0.
func size(bytes int64) cell {
	if bytes == 0 {
		return cell{}
	}
	return cell{fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)), float64(bytes)}
}

// ratio is not known when one of the figures is not.
func ratio(a, b float64) cell {
	if a == 0 || b == 0 {
		return cell{}
	}
	return cell{fmt.Sprintf("%.2f", a/b), a / b}
}

// durationText has three significant digits, or all before the point.
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

// quantile is the value below which the given part of the list lies; the zero
// value for an empty list.
func quantile[T cmp.Ordered](list []T, at float64) T {
	if len(list) == 0 {
		return *new(T)
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(float64(len(sorted))*at), len(sorted)-1)]
}

func median[T cmp.Ordered](list []T) T { return quantile(list, 0.5) }
