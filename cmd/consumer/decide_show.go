package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/decide"
	"intenthint/internal/text"
)

type decideShowCmd struct {
	Rubric string `arg:"" help:"The rubric, or its name."`
	Limit  int    `default:"20" help:"The maximum number of decisions."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// Help is the longer text of `consumer decide show --help`.
func (decideShowCmd) Help() string {
	return `Shows a rubric: its question, what was decided about it, the last decisions, and the random ones of today that are offered for marking (sample in HINT_DECIDE). Only these say how good the answers are; of others one marks what one notices.

  consumer decide show 3f9a0c11d2e4`
}

// Validate rejects a limit below 1.
func (c *decideShowCmd) Validate() error {
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	return nil
}

// decideShown is what --json prints.
type decideShown struct {
	decide.Tally
	// Question is in the form of the wire; null if it is not stored.
	Question json.RawMessage `json:"question"`
	Student  decideStudent   `json:"student"`
	// Last are the last decisions, newest first; Offered are those to mark.
	Last    []decide.Entry `json:"lastDecisions"`
	Offered []decide.Entry `json:"offered"`
}

// decideStudent is what is known of the student of a rubric.
type decideStudent struct {
	decide.Standing
	// Learns is how many answers it learns from. Of its Trials, in which it was compared
	// with the teacher or a mark, Agreed agreed; AtLeast is the exact one-sided 95 % lower
	// bound of the agreement.
	Learns  int     `json:"learns"`
	Trials  int     `json:"trials"`
	Agreed  int     `json:"agreed"`
	AtLeast float64 `json:"atLeast"`
}

// judge counts the trials that its standing depends on: where it answers alone, those of
// what it was sure of.
func (d *decideStudent) judge(records []decide.Record) {
	d.Learns = len(records)
	for _, t := range decide.Trials(records) {
		if t.At <= d.Back || t.P < d.Threshold {
			continue
		}
		if d.Trials++; t.Agree {
			d.Agreed++
		}
	}
	d.AtLeast = decide.LowerBound(d.Agreed, d.Trials)
}

func (d *decideStudent) print(to io.Writer) {
	state := "does not answer alone"
	if d.Threshold > 0 {
		state = fmt.Sprintf("answers alone from a probability of %.3f on", d.Threshold)
	}
	_, _ = fmt.Fprintf(to, "student: %s; learns from %s; agreed in %d of %s, at least %.3f (95 %%)\n",
		state, cli.Count(d.Learns, "answer"), d.Agreed, cli.Count(d.Trials, "trial"), d.AtLeast)
}

func (c *decideShowCmd) Run(inv *cli.Invocation) error {
	b, err := openDecide(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	layout := app.Layout(inv.Config)
	entries, err := decide.Read(inv.Ctx, b.JS, layout, "")
	if err != nil {
		return err
	}
	rubric, err := rubricNamed(entries, c.Rubric)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e decide.Entry) bool { return e.Rubric != rubric })
	store := decide.StoreOf(layout, b.JS, inv.Quiet())
	known, err := rubricsIn(inv.Ctx, store)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(known, func(r decide.Rubric) bool { return r.ID == rubric })
	if at < 0 && len(entries) == 0 {
		return fmt.Errorf("no rubric %q (consumer decide ls)", text.OneLine(c.Rubric, 60))
	}
	out := decideShown{Tally: decide.Tally{Rubric: rubric, Sources: map[decide.Source]int{}}}
	if at >= 0 {
		out.Name, out.Question = known[at].Name, known[at].Question
		out.Student.Standing = known[at].Standing
	}
	if len(entries) > 0 {
		out.Tally = decide.Tallies(entries)[0]
	}
	records, err := store.Records(inv.Ctx, rubric)
	if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	out.Student.judge(records)
	out.Offered = cli.OrEmpty(decide.Offered(entries, time.Now().In(inv.Config.Timezone.Location), decide.Declared.In(inv.Config.Parts).Sample))
	slices.Reverse(entries)
	out.Last = cli.OrEmpty(entries[:min(c.Limit, len(entries))])
	if c.JSON {
		return cli.PrintJSON(inv, out)
	}
	return out.print(inv)
}

func (d *decideShown) print(inv *cli.Invocation) error {
	_, _ = fmt.Fprintf(inv.Stdout, "%s  %s\n", d.Rubric, text.OneLine(d.Name, 60))
	if d.Question != nil {
		_, _ = fmt.Fprintf(inv.Stdout, "question: %s\n", text.OneLine(string(d.Question), 2000))
	}
	_, _ = fmt.Fprintf(inv.Stdout, "%s: %d by a student, %d by the teacher, %d from labels alone; %d late, %d checks; %d of %d marked are right\n",
		cli.Count(d.Decisions, "decision"), d.Sources[decide.Local], d.Sources[decide.Model], d.Sources[decide.Zero], d.Late, d.Checks, d.Right, d.Marked)
	d.Student.print(inv.Stdout)
	decisions(inv.Stdout, "\nlast decisions:", d.Last, inv.Config.Timezone.Location)
	if len(d.Offered) > 0 {
		decisions(inv.Stdout, "\nof today, at random (consumer decide mark ID LABEL):", d.Offered, inv.Config.Timezone.Location)
	}
	return nil
}

// decisions writes a line for each decision.
func decisions(to io.Writer, title string, list []decide.Entry, at *time.Location) {
	if len(list) == 0 {
		return
	}
	_, _ = fmt.Fprintln(to, title)
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	for _, e := range list {
		mark := ""
		if e.Mark != nil {
			mark = "marked " + text.OneLine(e.Mark.Label, 40)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%.3f\t%s\t%s\t%s\n", e.ID, e.At.In(at).Format("01-02 15:04:05"), text.OneLine(e.Answer, 40),
			e.Probabilities[e.Answer], e.Source, mark, text.OneLine(e.Text, 80))
	}
	_ = w.Flush() // to the command's output, which remembers a failure
}
