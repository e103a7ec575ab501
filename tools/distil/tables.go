package main

import (
	"context"
	"fmt"
	"io"
)

// printChoice prints what each value gives on the validation parts.
func printChoice(out io.Writer, trials [][]*trial, accepts []float64, chosen []*trial) {
	_, _ = fmt.Fprint(out, "Calls per 100 messages and accuracy on the validation parts, by HINT_LOCAL_ACCEPT:\n\n| |")
	for _, t := range trials[0] {
		_, _ = fmt.Fprintf(out, " %s |", t.set.name)
	}
	_, _ = fmt.Fprint(out, "\n|---|")
	for range trials[0] {
		_, _ = fmt.Fprint(out, "---|")
	}
	_, _ = fmt.Fprintln(out)
	for i, accept := range accepts {
		_, _ = fmt.Fprintf(out, "| %g |", accept)
		for _, t := range trials[i] {
			_, _ = fmt.Fprintf(out, " %.1f, %.1f %% |", t.validate.per100(), t.validate.accuracy())
		}
		_, _ = fmt.Fprintln(out)
	}
	_, _ = fmt.Fprint(out, "| the model alone |")
	for _, t := range trials[0] {
		_, _ = fmt.Fprintf(out, " 100, %.1f %% |", t.validate.modelAccuracy())
	}
	_, _ = fmt.Fprint(out, "\n| chosen |")
	for _, t := range chosen {
		_, _ = fmt.Fprintf(out, " %g |", t.accept)
	}
	_, _ = fmt.Fprint(out, "\n\n")
}

// printOverTime prints the traffic in windows.
func printOverTime(out io.Writer, trials []*trial) {
	_, _ = fmt.Fprint(out, "| set | messages | calls per 100 | accuracy, % | model alone, % | answered locally, of these right, % |\n|---|---|---|---|---|---|\n")
	for _, t := range trials {
		from := 1
		row := func(messages string, w *tally) {
			local := w.n - w.calls
			_, _ = fmt.Fprintf(out, "| %s | %s | %.1f | %.1f | %.1f | %d, %.1f |\n",
				t.set.name, messages, w.per100(), w.accuracy(), w.modelAccuracy(), local, share(w.localRight, local))
		}
		for i := range t.over {
			w := &t.over[i]
			row(fmt.Sprintf("%d–%d", from, w.until), &w.tally)
			from = w.until + 1
		}
		all := t.all()
		row("all", &all)
	}
	_, _ = fmt.Fprintln(out)
}

// printTest asks the test parts, without learning, and prints the result.
func printTest(ctx context.Context, out io.Writer, trials []*trial) error {
	_, _ = fmt.Fprint(out, "| test part | messages of traffic | calls in all | examples | trainings | calls per 100 | accuracy, % | model alone, % | loss, standard error |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, t := range trials {
		got, err := t.learner.measure(ctx, t.set.test)
		if err != nil {
			return err
		}
		loss, standardError := got.loss()
		_, _ = fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %.1f | %.1f | %.1f | %.1f, %.1f |\n", t.set.name, len(t.set.traffic), t.all().calls,
			len(t.learner.known), t.learner.trained, got.per100(), got.accuracy(), got.modelAccuracy(), loss, standardError)
	}
	return nil
}
