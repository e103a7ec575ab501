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
	// Continues is the rubric that it continues, "" for none.
	Continues string         `json:"continues,omitempty"`
	Student   decide.Student `json:"student"`
	Teacher   decide.Cost    `json:"teacher"`
	// Sample counts the random decisions that were marked.
	Sample decideSample `json:"sample"`
	// Last are the last decisions, newest first; Offered are those to mark.
	Last    []decide.Entry `json:"lastDecisions"`
	Offered []decide.Entry `json:"offered"`
}

// decideSample is how right the answers are, judging by random decisions.
type decideSample struct {
	Marked int `json:"marked"`
	Right  int `json:"right"`
	// Interval is the exact 95 % interval of the accuracy, null without marks.
	Interval *[2]float64 `json:"interval"`
}

func sampleOf(right, marked int) decideSample {
	s := decideSample{Marked: marked, Right: right}
	if marked > 0 {
		interval := decide.Interval(right, marked)
		s.Interval = &interval
	}
	return s
}

func (s *decideSample) print(to io.Writer) {
	if s.Interval == nil {
		_, _ = fmt.Fprintln(to, "accuracy: unknown, as no random decision is marked")
		return
	}
	_, _ = fmt.Fprintf(to, "accuracy: %d of %s right, %.2f to %.2f (95 %%)\n", s.Right, cli.Count(s.Marked, "marked random decision"), s.Interval[0], s.Interval[1])
}

func printStudent(d *decide.Student, to io.Writer) {
	state := "does not answer alone"
	if d.Threshold > 0 {
		state = fmt.Sprintf("answers alone from a probability of %.3f on", d.Threshold)
	}
	inherited := ""
	if d.Inherited > 0 {
		inherited = fmt.Sprintf(" (%d of rubrics that it continues)", d.Inherited)
	}
	_, _ = fmt.Fprintf(to, "student: %s; learns from %s%s; agreed in %d of %s, at least %.3f (95 %%)\n",
		state, cli.Count(d.Learns, "answer"), inherited, d.Agreed, cli.Count(d.Trials, "trial"), d.AtLeast)
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
		out.Student.Standing, out.Continues = known[at].Standing, known[at].Continues
	}
	if len(entries) > 0 {
		out.Tally = decide.Tallies(entries)[0]
	}
	lessons, err := store.Lessons(inv.Ctx, rubric)
	if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	out.Student, out.Teacher = decide.StudentOf(rubric, out.Student.Standing, lessons), decide.CostOf(entries)
	sample, zone := decide.Declared.In(inv.Config.Parts).Sample, inv.Config.Timezone.Location
	out.Sample = sampleOf(decide.Accuracy(entries, sample, zone))
	out.Offered = cli.OrEmpty(decide.Offered(entries, time.Now().In(zone), sample))
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
	if d.Continues != "" {
		_, _ = fmt.Fprintf(inv.Stdout, "continues: %s\n", d.Continues)
	}
	printStudent(&d.Student, inv.Stdout)
	d.Sample.print(inv.Stdout)
	if d.Teacher.Calls > 0 {
		_, _ = fmt.Fprintf(inv.Stdout, "teacher: %s, %d tokens in, %d out; %.0f ms (median), %.0f ms (p95)\n",
			cli.Count(d.Teacher.Calls, "answer"), d.Teacher.Tokens.In, d.Teacher.Tokens.Out, d.Teacher.Median, d.Teacher.P95)
	}
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
