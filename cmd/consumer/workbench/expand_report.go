package workbench

import (
	"fmt"
	"io"
	"strings"

	"intenthint/cmd/consumer/cli"
	"intenthint/improve/expand"
	"intenthint/record"
)

// line sums up the result for an intent in one line.
func (e *expansion) line() string {
	if e.Error != "" {
		return e.Intent + ": failed: " + strings.ReplaceAll(e.Error, "\n", "; ")
	}
	line := fmt.Sprintf("%s: %s from %s", e.Intent, cli.Count(len(e.Added), "example"), e.Model)
	if len(e.Dropped) == 0 {
		return line
	}
	tally := map[expand.Reason]int{}
	for _, d := range e.Dropped {
		tally[d.Reason]++
	}
	var parts []string
	for _, r := range expand.Reasons() {
		if n := tally[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	return fmt.Sprintf("%s, %d dropped (%s)", line, len(e.Dropped), strings.Join(parts, ", "))
}

// because describes each reason to drop a suggestion; %s is the other intent or
// example.
var because = map[expand.Reason]string{
	expand.Empty:     "no words to learn from",
	expand.Long:      "too long",
	expand.Repeated:  "already an example",
	expand.Taken:     "an example of %s",
	expand.Similar:   "nearly the same as “%s”",
	expand.Elsewhere: "the classifier is sure that it is %s",
	expand.Surplus:   "more than requested",
	record.Unknown:   "no such intent",
	record.Injection: "looks like a prompt injection",
	record.Share:     "enough of this intent from the same person or chat",
}

// why describes why a suggestion was dropped.
func why(reason expand.Reason, of string) string {
	said := because[reason]
	if strings.Contains(said, "%s") {
		return fmt.Sprintf(said, of)
	}
	return said
}

// printSummary lists the dropped suggestions with their reasons, and the totals.
func (out *Expanded) printSummary(w io.Writer) {
	added, dropped, failed := 0, 0, 0
	for _, e := range out.Intents {
		added += len(e.Added)
		dropped += len(e.Dropped)
		if e.Error != "" {
			failed++
		}
		for _, d := range e.Dropped {
			_, _ = fmt.Fprintf(w, "%s: dropped “%s”: %s\n", e.Intent, d.Text, why(d.Reason, d.Of))
		}
	}
	_, _ = fmt.Fprintf(w, "%s for %s, %d dropped", cli.Count(added, "new example"), cli.Count(len(out.Intents)-failed, "intent"), dropped)
	if failed > 0 {
		_, _ = fmt.Fprintf(w, ", %s failed", cli.Count(failed, "intent"))
	}
	_, _ = fmt.Fprintf(w, "; %d tokens in, %d out\n", out.Tokens.Input, out.Tokens.Output)
}
