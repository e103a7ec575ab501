package workbench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/record"
)

// replayReport is the outcome of a replay and its settings.
type replayReport struct {
	record.Replayed
	// Intents is the directory, "" for the built-in definitions.
	Intents string
	// Model is provider/model, "" for the local classifier.
	Model         string
	MinConfidence float64
}

// ReplaySummary is what --json prints.
type ReplaySummary struct {
	record.Summary
	Intents       string  `json:"intents"`
	Model         string  `json:"model,omitempty"`
	MinConfidence float64 `json:"minConfidence"`
}

func (c *Replay) print(inv *cli.Invocation, r *replayReport) error {
	switch {
	case c.JSON:
		return cli.PrintJSON(inv, ReplaySummary{r.Summary, r.Intents, r.Model, r.MinConfidence})
	case c.JSONL:
		enc := json.NewEncoder(inv.Stdout)
		enc.SetEscapeHTML(false)
		for i := range r.Differences {
			if err := enc.Encode(&r.Differences[i]); err != nil {
				return err
			}
		}
		return r.figures(inv.Stderr)
	}
	if err := r.figures(inv.Stdout); err != nil || r.Changed == 0 {
		return err
	}
	_, _ = fmt.Fprintln(inv.Stdout)
	if err := r.pairs(inv.Stdout); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(inv.Stdout)
	return r.turns(inv.Stdout)
}

// figures prints the summary.
func (r *replayReport) figures(out io.Writer) error {
	w := table(out)
	_, _ = fmt.Fprintf(w, "turns\t%d\tunder %s, %s, threshold %g\n", r.Turns, cmp.Or(r.Intents, "the built-in definitions"), cmp.Or(r.Model, "the local classifier"), r.MinConfidence)
	_, _ = fmt.Fprintf(w, "compared\t%d\t\n", r.Compared)
	_, _ = fmt.Fprintf(w, "changed\t%d\t%s of those compared\n", r.Changed, percent(float64(r.Changed)/float64(max(r.Compared, 1)), r.Compared))
	_, _ = fmt.Fprintf(w, "  gained\t%d\thad no hint, would get one\n", r.Gained)
	_, _ = fmt.Fprintf(w, "  lost\t%d\thad a hint, would get none\n", r.Lost)
	_, _ = fmt.Fprintf(w, "  other\t%d\twould get another intent\n", r.Changed-r.Gained-r.Lost)
	if r.Better+r.Worse > 0 {
		_, _ = fmt.Fprintf(w, "with feedback\t%d\t%d now right, %d no longer right\n", r.Better+r.Worse, r.Better, r.Worse)
	}
	for _, l := range []struct {
		n    int
		what string
	}{
		{r.LeftOut.Model, "a model answered: --all compares them with the local classifier, --model with a model"},
		{r.LeftOut.Unanswered, "without an answer: --all counts them as without a hint"},
		{r.LeftOut.Altered, "would change, but the record was redacted or cut: --all counts them"},
		{r.LeftOut.Failed, "got no answer now"},
		{r.LeftOut.Blank, "without text"},
	} {
		if l.n > 0 {
			_, _ = fmt.Fprintf(w, "left out\t%d\t%s\n", l.n, l.what)
		}
	}
	return w.Flush()
}

// pairs prints how often each intent changes to another.
func (r *replayReport) pairs(out io.Writer) error {
	w := table(out)
	_, _ = fmt.Fprintln(w, "FROM\tTO\tTURNS")
	for _, p := range r.Pairs[:min(len(r.Pairs), shownReplayed)] {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\n", text.OneLine(p.From, shownID), text.OneLine(p.To, shownID), p.Turns)
	}
	return rest(out, w, len(r.Pairs), "pair", "--json")
}

const (
	shownReplayed = 50 // pairs, and turns
	shownID       = 44 // characters of an id
)

// turns prints the first changed turns.
func (r *replayReport) turns(out io.Writer) error {
	w := table(out)
	_, _ = fmt.Fprintln(w, "SESSION\tRUN\tFROM\tRUNNER-UP\tTO\tTEXT")
	for i := range r.Differences[:min(len(r.Differences), shownReplayed)] {
		d := &r.Differences[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", text.OneLine(d.Session, shownID), text.OneLine(d.RunID, shownID),
			replayAnswer(d.From, d.FromAnswered, d.FromConfidence), text.OneLine(cmp.Or(d.FromRunnerUp, "-"), shownID), replayAnswer(d.To, d.ToAnswered, d.ToConfidence), text.OneLine(d.Text, 50))
	}
	return rest(out, w, len(r.Differences), "turn", "--jsonl")
}

// rest ends a table of n lines with the number of omitted lines.
func rest(out io.Writer, w *tabwriter.Writer, n int, noun, flag string) error {
	if err := w.Flush(); err != nil || n <= shownReplayed {
		return err
	}
	_, err := fmt.Fprintf(out, "and %s more: %s prints all\n", cli.Count(n-shownReplayed, noun), flag)
	return err
}

// replayAnswer formats an answer with its confidence, and the classifier's
// choice if there was no hint.
func replayAnswer(intent, answered string, confidence float64) string {
	out := fmt.Sprintf("%s %.2f", text.OneLine(intent, shownID), confidence)
	if answered != "" {
		out += " (" + text.OneLine(answered, shownID) + ")"
	}
	return out
}
