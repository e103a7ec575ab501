package workbench

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"intenthint/classify/evaluate"
	"intenthint/cmd/consumer/cli"
	"intenthint/intents"
)

const (
	// A pair of intents is shown when this many examples of one are mistaken for
	// the other: a single one may be chance.
	advisedConfusions = 2
	shownOfPair       = 3 // examples of each pair
)

// advise prints what would help the local classifier to tell the intents apart.
func advise(inv *cli.Invocation, catalog *intents.Catalog) error {
	bar := cli.NewProgressLines(inv.Stderr)
	bar.Label = "examples asked about"
	parts := evaluate.Thorough(catalog)
	bar.Show(0, parts.Tested)
	outcomes, err := evaluate.LeaveOut(inv.Ctx, catalog, parts, bar.Show)
	bar.Clear()
	if err != nil {
		return err
	}
	return printAdvice(inv.Stdout, catalog, outcomes)
}

// adviceView is what the template shows.
type adviceView struct {
	evaluate.Metrics
	Inside int // examples of intents, without those that fit none
	Thin   []thinIntent
	Pairs  []confusedPair
}

type thinIntent struct {
	Intent   string
	Examples int
	Wanted   string
}

// confusedPair is a pair of intents with the examples of the first that were
// answered with the second with the most confidence.
type confusedPair struct {
	evaluate.Confusion
	Of    int // examples of the intent
	Worst []evaluate.Outcome
}

func printAdvice(out io.Writer, catalog *intents.Catalog, outcomes []evaluate.Outcome) error {
	view := adviceView{Metrics: evaluate.Measure(outcomes)}
	view.Inside = view.N - view.NOOS
	for _, id := range catalog.Thin() {
		in, _ := catalog.Lookup(id)
		view.Thin = append(view.Thin, thinIntent{id, len(in.Examples), wantedExamples(id)})
	}
	for _, p := range evaluate.Confusions(outcomes) {
		if p.N >= advisedConfusions {
			in, _ := catalog.Lookup(p.Want)
			view.Pairs = append(view.Pairs, confusedPair{p, len(in.Examples), confusedBy(outcomes, p)})
		}
	}
	return report(out, "advice.tmpl", &view)
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
