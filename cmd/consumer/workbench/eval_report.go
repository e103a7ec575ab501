package workbench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"intenthint/classify/evaluate"
	"intenthint/intents"
	"intenthint/internal/text"
)

const shownChanges = 20 // of each kind of --against

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
	w := table(out)
	if err := errors.Join(report(w, "eval.tmpl", &view), w.Flush()); err != nil {
		return err
	}
	var parts []func(io.Writer) error
	if e.Wrong != nil {
		parts = append(parts, e.wrong)
	}
	if e.Against != nil {
		parts = append(parts, e.against)
	}
	for _, part := range parts {
		_, _ = fmt.Fprintln(out)
		if err := part(out); err != nil {
			return err
		}
	}
	return nil
}

func (e *evalText) wrong(out io.Writer) error {
	_, err := fmt.Fprintf(out, "WRONG (%d of %d)\n", len(e.Wrong), e.N)
	for _, p := range e.Wrong {
		_, _ = fmt.Fprintf(out, "%s:%d: %s\n", e.data, p.Line, text.OneLine(p.Text, shownMessage))
		_, _ = fmt.Fprintf(out, "    expected %s, got %s; runner-up %s %.2f\n", expected(p.Intent, p.Intents), p.answer, cmp.Or(p.RunnerUp, "none"), p.RunnerUpConfidence)
		if p.MisledBy != "" {
			_, _ = fmt.Fprintf(out, "    misled by “%s”, similarity %.2f\n", p.MisledBy, p.Similarity)
		}
	}
	return err
}

func (e *evalText) against(out io.Writer) error {
	a := e.Against
	_, _ = fmt.Fprintf(out, "%s AGAINST %s\n", e.dir, a.Intents)
	w := table(out)
	_, _ = fmt.Fprintln(w, "\tBEFORE\tAFTER\tCHANGE")
	inScope := e.N - e.NOOS
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
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.name, percent(row.before, row.of), percent(row.after, row.of), points)
	}
	_, _ = fmt.Fprintf(w, "calibration error\t%.3f\t%.3f\t%+.3f\n", e.ECE, a.ECE, a.ECE-e.ECE)
	_, _ = fmt.Fprintf(w, "latency\t%.0f µs\t%.0f µs\t\n", e.P50Us, a.P50Us)
	_, _ = fmt.Fprintf(w, "load and training\t%.0f ms\t%.0f ms\t\n", e.LoadMs, a.LoadMs)
	if e.EmbedMs+a.EmbedMs > 0 {
		_, _ = fmt.Fprintf(w, "vectors and training on them\t%.0f ms\t%.0f ms\t\n", e.EmbedMs, a.EmbedMs)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, list := range []struct {
		name    string
		changes []change
	}{{"BETTER", a.Better}, {"WORSE", a.Worse}, {"ANOTHER ANSWER, NEITHER BETTER NOR WORSE", a.Changed}} {
		if _, err := fmt.Fprintf(out, "\n%s (%d)\n", list.name, len(list.changes)); err != nil {
			return err
		}
		for _, c := range list.changes[:min(len(list.changes), shownChanges)] {
			_, _ = fmt.Fprintf(out, "%s:%d: %s\n", e.data, c.Line, text.OneLine(c.Text, shownMessage))
			_, _ = fmt.Fprintf(out, "    expected %s, before %s, after %s\n", expected(c.Intent, c.Intents), c.Before, c.After)
		}
		if more := len(list.changes) - shownChanges; more > 0 {
			_, _ = fmt.Fprintf(out, "… and %d more (--json lists all)\n", more)
		}
	}
	return nil
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
