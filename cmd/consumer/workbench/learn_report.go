package workbench

import (
	"fmt"
	"io"
	"strings"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/record"
)

const (
	shownLearnt     = 20 // recorded turns that would be answered differently
	shownLearntText = 60 // characters of a message
)

// unfitBecause describes each reason why a turn teaches nothing, for turns that
// people marked or a model was sure of.
var unfitBecause = []struct {
	reason record.Unfit
	why    string
}{
	{record.Unnamed, "marked wrong without an intent (consumer feedback RUN wrong --intent ID)"},
	{record.WithoutHint, "marked right, but without a hint"},
	{record.Dependent, "not understandable without the messages before"},
	{record.Long, "longer than 200 characters"},
	{record.Blank, "without words"},
}

// additions returns the results as changes of files.
func (out *Proposal) additions() []addition {
	all := make([]addition, len(out.Intents))
	for i, e := range out.Intents {
		all[i] = e.addition
	}
	return all
}

// printSummary prints what was found and dropped, and the effect of the
// examples.
func (out *Proposal) printSummary(w io.Writer) {
	for _, d := range out.Dropped {
		_, _ = fmt.Fprintf(w, "%s: dropped “%s”: %s\n", text.OneLine(d.Intent, 60), d.Text, why(d.Reason, d.Of))
	}
	for _, u := range unfitBecause {
		if n := out.Unfit[u.reason]; n > 0 {
			_, _ = fmt.Fprintf(w, "left out: %s %s\n", cli.Count(n, "turn"), u.why)
		}
	}
	added, failed := 0, 0
	for _, e := range out.Intents {
		added += len(e.Added)
		if e.Error != "" {
			failed++
			_, _ = fmt.Fprintf(w, "%s: failed: %s\n", e.Intent, strings.ReplaceAll(e.Error, "\n", "; "))
		}
	}
	_, _ = fmt.Fprintf(w, "%s for %s from %s, %d dropped\n",
		cli.Count(added, "new example"), cli.Count(len(out.Intents)-failed, "intent"), cli.Count(out.Turns, "turn"), len(out.Dropped))
	if added == 0 {
		return
	}
	printEffects(w, out.Before, out.After, out.Changed, out.Turns)
}

// printEffects prints the effect of an edit: recognised examples, and recorded
// turns that would be answered differently.
func printEffects(w io.Writer, before, after leftOut, changed []record.Difference, turns int) {
	_, _ = fmt.Fprintf(w, "recognised when left out: %s before, %s after\n", before, after)
	_, _ = fmt.Fprintf(w, "%s of %d would be answered differently by the local classifier\n", cli.Count(len(changed), "recorded turn"), turns)
	for _, d := range changed[:min(len(changed), shownLearnt)] {
		_, _ = fmt.Fprintf(w, "  %s  %s → %s%s  “%s”\n", text.OneLine(d.RunID, 44), d.From, d.To, judged(&d), text.OneLine(d.Text, shownLearntText))
	}
	if more := len(changed) - shownLearnt; more > 0 {
		_, _ = fmt.Fprintf(w, "  and %d more (--json lists all)\n", more)
	}
}

// String returns the accuracy in words.
func (l leftOut) String() string {
	if l.outside == 0 {
		return fmt.Sprintf("%s of %s", percent(l.Accuracy, l.Examples), cli.Count(l.Examples, "example"))
	}
	return fmt.Sprintf("%s of %s (%s of %d that fit no intent)",
		percent(l.Accuracy, l.Examples-l.outside), cli.Count(l.Examples-l.outside, "example"), percent(l.OutOfScope, l.outside), l.outside)
}

// judged returns people's feedback on a changed turn.
func judged(d *record.Difference) string {
	switch {
	case d.Right == "":
		return ""
	case strings.EqualFold(d.Right, d.To):
		return " (right)"
	default:
		return fmt.Sprintf(" (wrong, marked %s)", d.Right)
	}
}
