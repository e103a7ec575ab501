package workbench

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"intenthint/classify/evaluate"
	"intenthint/cmd/consumer/cli"
	"intenthint/intents"
	"intenthint/internal/text"
)

const (
	// A pair of intents is shown when this many examples of one are mistaken for
	// the other: a single one may be chance.
	advisedConfusions = 2
	shownPairs        = 10
	shownOfPair       = 3 // examples of each pair
)

// advise prints what would help the local classifier to tell the intents apart.
func advise(inv *cli.Invocation, catalog *intents.Catalog) error {
	bar := cli.NewProgress(inv.Stderr)
	parts := evaluate.Thorough(catalog)
	bar.Show(0, parts.Tested)
	outcomes, err := evaluate.LeaveOut(inv.Ctx, catalog, parts, bar.Show)
	bar.Clear()
	if err != nil {
		return err
	}
	return printAdvice(inv.Stdout, catalog, outcomes)
}

func printAdvice(out io.Writer, catalog *intents.Catalog, outcomes []evaluate.Outcome) error {
	m := evaluate.Measure(outcomes)
	_, err := fmt.Fprintf(out, "%s of %s recognised when left out\n", percent(m.Accuracy, m.N-m.NOOS), cli.Count(m.N-m.NOOS, "example"))
	if m.NOOS > 0 {
		_, err = fmt.Fprintf(out, "%s of %s that fit no intent\n", percent(m.OOSRecall, m.NOOS), cli.Count(m.NOOS, "example"))
	}
	if thin := catalog.Thin(); len(thin) > 0 {
		_, _ = fmt.Fprintf(out, "\nFEW EXAMPLES (consumer intents expand lets a model write more)\n")
		w := table(out)
		for _, id := range thin {
			in, _ := catalog.Lookup(id)
			_, _ = fmt.Fprintf(w, "%s\t%d, %s\n", id, len(in.Examples), wantedExamples(id))
		}
		_ = w.Flush()
	}
	pairs := evaluate.Confusions(outcomes)
	pairs = slices.DeleteFunc(pairs, func(p evaluate.Confusion) bool { return p.N < advisedConfusions })
	if len(pairs) == 0 {
		return err
	}
	_, err = fmt.Fprintf(out, "\nCONFUSED (sharpen the triggers of both, move or reword these examples)\n")
	for _, p := range pairs[:min(len(pairs), shownPairs)] {
		in, _ := catalog.Lookup(p.Want)
		_, _ = fmt.Fprintf(out, "%d of %s of %s are taken for %s\n", p.N, cli.Count(len(in.Examples), "example"), p.Want, p.Got)
		for _, o := range confusedBy(outcomes, p) {
			_, err = fmt.Fprintf(out, "    “%s”%s\n", text.OneLine(o.Text, shownMessage), like(&o))
		}
	}
	if more := len(pairs) - shownPairs; more > 0 {
		_, err = fmt.Fprintf(out, "and %s\n", cli.Count(more, "further pair"))
	}
	return err
}

func wantedExamples(id string) string {
	if id == intents.FallbackID {
		return "messages that fit no intent are recognised by unknown words only"
	}
	return fmt.Sprintf("%d or more are wanted", intents.FewExamples)
}

// confusedBy returns the examples of a pair that were answered wrongly with the
// most confidence.
func confusedBy(outcomes []evaluate.Outcome, p evaluate.Confusion) []evaluate.Outcome {
	var out []evaluate.Outcome
	for _, o := range outcomes {
		if o.Want == p.Want && o.Got == p.Got {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b evaluate.Outcome) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return out[:min(len(out), shownOfPair)]
}

// like returns the example that misled.
func like(o *evaluate.Outcome) string {
	if o.Misled == "" {
		return ""
	}
	return fmt.Sprintf(", like “%s”", text.OneLine(o.Misled, shownMessage))
}
