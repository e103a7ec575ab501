package workbench

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
)

const (
	shownID      = 44  // characters of an id of a session or run, and of an intent in a table
	shownName    = 60  // characters of a name
	shownMessage = 100 // characters of a message
)

//go:embed reports/*.tmpl
var reportFiles embed.FS

var reports = template.New("reports")

func init() {
	template.Must(reports.Funcs(template.FuncMap{
		"count": cli.Count, "cut": text.OneLine, "local": localTime,
		"percent": percent, "percentOf": percentOf, "share": share, "money": money,
		"decimals": func(n int, v float64) string { return strconv.FormatFloat(v, 'f', n, 64) },
		"lasted":   lasted, "answer": replayAnswer, "why": why, "judged": judged, "edit": editLine, "expected": expected,
		"minus": func(a, b float64) float64 { return a - b },
		"lines": func(s string) string { return strings.ReplaceAll(s, "\n", "; ") },
		"sub":   func(a int, others ...int) int { return a - sum(others) },
		"head":  head, "more": more, "table": tableOf,
	}).ParseFS(reportFiles, "reports/*.tmpl"))
}

// report writes the report of a template of reports/ for people.
func report(to io.Writer, name string, view any) error {
	return reports.ExecuteTemplate(to, name, view)
}

// tableOf returns the output of a template with its tabs aligned. Text between
// tables, which may have tabs of its own, stays outside.
func tableOf(name string, view any) (string, error) {
	var out strings.Builder
	w := table(&out)
	err := errors.Join(report(w, name, view), w.Flush())
	return out.String(), err
}

func table(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 8, 2, ' ', 0) }

// head returns the first n elements of a list, more how many there are beyond.
func head(list any, n int) any {
	v := reflect.ValueOf(list)
	return v.Slice(0, min(v.Len(), max(n, 0))).Interface()
}

func more(list any, n int) int { return max(reflect.ValueOf(list).Len()-max(n, 0), 0) }

func sum(all []int) (total int) {
	for _, n := range all {
		total += n
	}
	return total
}

func localTime(ms int64) string { return time.UnixMilli(ms).Local().Format(time.DateTime) }

// percent formats a ratio, or returns a dash when the total is 0.
func percent(part float64, of int) string { return percentOf(part, of > 0) }

// percentOf formats a ratio, or returns a dash if known is false.
func percentOf(part float64, known bool) string {
	if !known {
		return "-"
	}
	return share(part)
}

func share(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }
