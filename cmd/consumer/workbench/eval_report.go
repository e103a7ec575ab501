package workbench

import (
	"fmt"
	"io"
	"math"
	"strings"

	"intenthint/classify/evaluate"
	"intenthint/intents"
	"intenthint/internal/text"
)

// evalText prints an evaluation for people.
type evalText struct {
	*Evaluation
	data, dir     string // the file and the directory, as the user named them
	minConfidence float64
}

// evalView is what the template of the tables shows.
type evalView struct {
	*evalText
	Scores        []evaluate.IntentScore
	Now           evaluate.Threshold // at the configured threshold
	MinConfidence float64
	Fallback      string // the intent's id
	Rejected      int    // messages that were answered with it
}

// print writes the evaluation as text. hints are the metrics at the configured
// threshold.
func (e *evalText) print(out io.Writer, scores []evaluate.IntentScore, hints evaluate.Threshold) error {
	view := evalView{evalText: e, Scores: scores, Now: hints, MinConfidence: e.minConfidence, Fallback: intents.FallbackID}
	for _, s := range scores {
		if s.Intent == intents.FallbackID {
			view.Rejected = s.Answers
		}
	}
	return report(out, "eval.tmpl", &view)
}

// Data and Dir return the file and the directory, as the user named them.
func (e *evalText) Data() string { return e.data }
func (e *evalText) Dir() string  { return e.dir }

// ListsWrong tells whether wrong answers are listed, be it none.
func (e *evalText) ListsWrong() bool { return e.Wrong != nil }

// againstRow is a figure before and after.
type againstRow struct {
	Name                  string
	Before, After, Change string
}

// Rows returns the figures of a comparison.
func (e *evalText) Rows() (rows []againstRow) {
	a, inScope := e.Against, e.N-e.NOOS
	for _, row := range []struct {
		name          string
		before, after float64
		of            int
	}{
		{"accuracy", e.Accuracy, a.Accuracy, inScope},
		{"  forced choice", e.AccuracyForced, a.AccuracyForced, inScope},
		{"out-of-scope recall", e.OOSRecall, a.OOSRecall, e.NOOS},
		{"  precision", e.OOSPrecision, a.OOSPrecision, e.N},
		{"hinted", e.Hinted, a.Hinted, e.N},
		{"  precision", e.Precision, a.Precision, e.N},
		{"  out of scope", e.OOSHinted, a.OOSHinted, e.NOOS},
	} {
		points := "-"
		if row.of > 0 {
			// Adding 0 turns -0 into 0.
			points = fmt.Sprintf("%+.1f", math.Round(1000*(row.after-row.before))/10+0)
		}
		rows = append(rows, againstRow{row.name, percent(row.before, row.of), percent(row.after, row.of), points})
	}
	return rows
}

// changeList is a kind of changed answers.
type changeList struct {
	Name    string
	Changes []change
}

// Lists returns the changed answers of a comparison by kind.
func (a *comparison) Lists() []changeList {
	return []changeList{{"BETTER", a.Better}, {"WORSE", a.Worse}, {"ANOTHER ANSWER, NEITHER BETTER NOR WORSE", a.Changed}}
}

// String returns the answer in words.
func (a answer) String() string {
	if a.Error != "" {
		return "no answer (" + text.OneLine(a.Error, shownMessage) + ")"
	}
	s := fmt.Sprintf("%s %.2f", a.Predicted, a.Confidence)
	if !a.Hinted {
		s += " (no hint)"
	}
	return s
}

// expected returns the right intents.
func expected(id string, all []string) string {
	if len(all) == 0 {
		all = []string{id}
	}
	return text.OneLine(strings.Join(all, " or "), shownMessage)
}
