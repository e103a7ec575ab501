package workbench

import (
	"fmt"
	"io"
	"strings"

	"intenthint/cmd/consumer/cli"
	"intenthint/record"
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

// learnView is what the template shows.
type learnView struct {
	*Proposal
	LeftOut       []unfitTurns
	Failed        []proposedIntent
	Added, Learnt int // examples, and intents that did not fail
}

type unfitTurns struct {
	Turns int
	Why   string
}

// effects is the effect of an edit: recognised examples, and recorded turns
// that would be answered differently.
type effects struct {
	Before, After leftOut
	Changed       []record.Difference
	Turns         int
}

// Effects returns the effect of the new examples.
func (out *Proposal) Effects() effects { return effects{out.Before, out.After, out.Changed, out.Turns} }

// printSummary prints what was found and dropped, and the effect of the
// examples.
func (out *Proposal) printSummary(w io.Writer) error {
	view := learnView{Proposal: out}
	for _, u := range unfitBecause {
		if n := out.Unfit[u.reason]; n > 0 {
			view.LeftOut = append(view.LeftOut, unfitTurns{n, u.why})
		}
	}
	for _, e := range out.Intents {
		view.Added += len(e.Added)
		if e.Error == "" {
			view.Learnt++
		} else {
			view.Failed = append(view.Failed, e)
		}
	}
	return report(w, "learn.tmpl", &view)
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
func judged(d record.Difference) string {
	switch {
	case d.Right == "":
		return ""
	case strings.EqualFold(d.Right, d.To):
		return " (right)"
	default:
		return fmt.Sprintf(" (wrong, marked %s)", d.Right)
	}
}
