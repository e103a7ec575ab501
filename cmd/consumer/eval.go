package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/intents"
	"intenthint/internal/app"
	"intenthint/internal/text"
	"intenthint/payload"
)

type evalCmd struct {
	Intents   string `placeholder:"DIR" help:"The directory of intent files (default: HINT_INTENTS_DIR, else the built-in definitions)."`
	Data      string `required:"" placeholder:"FILE" help:"The labelled messages: JSON lines of text and intent."`
	JSON      bool   `name:"json" help:"Print one JSON object."`
	Confusion bool   `help:"Show which intents are mistaken for which, with an example each."`
}

// Help is the longer text of `consumer eval --help`.
func (evalCmd) Help() string {
	return `Runs the configured classifier (HINT_CLASSIFIER) over lines such as {"text": "remind me at nine", "intent": "PRODUCTIVITY_CALENDAR"}, without NATS; the intent OTHER labels messages that fit no intent.

"accuracy" is over the lines whose intent is not OTHER; the answer OTHER is wrong for them. "accuracyForced" is the same without OTHER as a possible answer (an OTHER from a model is still wrong). "ece" is the expected calibration error in 15 bins. A failed classification counts as OTHER. A ratio over zero lines is 0.`
}

// evaluation is what --json prints.
type evaluation struct {
	evaluate.Metrics
	// LoadMs is the time to read the intents, to get their vectors and to
	// train, in milliseconds.
	LoadMs float64 `json:"loadMs"`
	// Confusion is set with --confusion.
	Confusion []evaluate.Confusion `json:"confusion,omitempty"`
}

// shownConfusions is how many pairs --confusion shows.
const shownConfusions = 20

func (c *evalCmd) Run(inv *invocation) error {
	data, err := os.ReadFile(c.Data)
	if err != nil {
		return err
	}
	lines, err := evaluate.Parse(c.Data, data)
	if err != nil {
		return err
	}
	began := time.Now()
	catalog, err := c.catalog(inv)
	if err != nil {
		return err
	}
	model := local.Train(catalog)
	o := app.Observer{Metrics: app.NewMetrics(version), Log: inv.quiet()}
	embedding := inv.embeddingFor(catalog, model, o)
	loaded := time.Since(began)
	classifier, err := app.NewClassifier(inv.cfg, model, embedding, o)
	if err != nil {
		return err
	}
	lines, unknown := evaluate.Resolve(lines, catalog)
	for _, u := range unknown {
		_, _ = fmt.Fprintf(inv.stderr, "%s:%d: the catalogue has no intent %q (%s, counted as wrong)\n", c.Data, u.First, u.Intent, count(u.N, "line"))
	}

	bar := newProgress(inv.stderr, len(lines))
	run := evaluate.Run{
		Catalog: catalog, Classifier: classifier, Timeout: inv.cfg.Classifier.Timeout, Location: inv.cfg.Timezone.Location,
		Forced: func(source string, in classify.Input) string {
			if source == payload.SourceEmbedding {
				return embedding.Predict(inv.ctx, in).Intent
			}
			return model.Predict(in.Latest, nil, nil).Intent
		},
		Progress: bar.show,
	}
	outcomes, err := run.Classify(inv.ctx, lines)
	bar.clear()
	if err != nil {
		return err
	}
	if failed, first := failures(outcomes); failed > 0 {
		_, _ = fmt.Fprintf(inv.stderr, "%d of %s got no answer and count as %s; the first error: %v\n",
			failed, count(len(outcomes), "message"), intents.FallbackID, first)
	}

	out := evaluation{Metrics: evaluate.Measure(outcomes), LoadMs: float64(loaded.Microseconds()) / 1000}
	if c.Confusion {
		pairs := evaluate.Confusions(outcomes)
		out.Confusion = pairs[:min(len(pairs), shownConfusions)]
	}
	if c.JSON {
		return printJSON(inv, out)
	}
	return out.print(inv.stdout, evaluate.ByIntent(outcomes))
}

// catalog reads the intents for the evaluation.
func (c *evalCmd) catalog(inv *invocation) (*intents.Catalog, error) {
	dir := cmp.Or(c.Intents, inv.cfg.IntentsDir)
	if dir == "" {
		return intents.Bundled(), nil
	}
	directory, err := intents.OpenDirectory(dir, inv.quiet())
	if err != nil {
		return nil, err
	}
	catalog := directory.Catalog()
	if len(catalog.Enabled()) == 0 {
		return nil, fmt.Errorf("no enabled intents in %s", dir)
	}
	return catalog, nil
}

func failures(outcomes []evaluate.Outcome) (n int, first error) {
	for i := range outcomes {
		if err := outcomes[i].Err; err != nil {
			n++
			if first == nil {
				first = err
			}
		}
	}
	return n, first
}

// print writes the evaluation as text.
func (e *evaluation) print(out io.Writer, scores []evaluate.IntentScore) error {
	rejected := 0
	for _, s := range scores {
		if s.Intent == intents.FallbackID {
			rejected = s.Answers
		}
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "accuracy\t%s\tof %d in scope\n", percent(e.Accuracy, e.N-e.NOOS), e.N-e.NOOS)
	_, _ = fmt.Fprintf(w, "  forced choice\t%s\t\n", percent(e.AccuracyForced, e.N-e.NOOS))
	_, _ = fmt.Fprintf(w, "out-of-scope recall\t%s\tof %d out of scope\n", percent(e.OOSRecall, e.NOOS), e.NOOS)
	_, _ = fmt.Fprintf(w, "  precision\t%s\tof %d answered %s\n", percent(e.OOSPrecision, rejected), rejected, intents.FallbackID)
	_, _ = fmt.Fprintf(w, "calibration error\t%.3f\tECE, 15 bins\n", e.ECE)
	_, _ = fmt.Fprintf(w, "latency\t%.0f µs\tp99 %.0f µs\n", e.P50Us, e.P99Us)
	_, _ = fmt.Fprintf(w, "load and training\t%.0f ms\t\n", e.LoadMs)
	if err := w.Flush(); err != nil {
		return err
	}

	_, _ = fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "INTENT\tRECALL\tPRECISION\tN")
	for _, s := range scores {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", s.Intent, percent(s.Recall(), s.N), percent(s.Precision(), s.Answers), s.N)
	}
	if err := w.Flush(); err != nil || len(e.Confusion) == 0 {
		return err
	}

	_, _ = fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "WANTED\tANSWERED\tN\tEXAMPLE")
	for _, p := range e.Confusion {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", p.Want, p.Got, p.N, text.OneLine(p.Example, 60))
	}
	return w.Flush()
}

// percent formats a ratio, or returns a dash when the total is 0.
func percent(share float64, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
