package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/decide"
	"intenthint/internal/text"
)

type decideReplayCmd struct {
	Model  string    `placeholder:"M" help:"Ask this model, as provider/model, and no student."`
	Rubric string    `placeholder:"R" help:"Only this rubric, or its name."`
	Since  cli.Since `placeholder:"D" help:"Only decisions made since then: a duration (24h, 7d) or an RFC 3339 time."`
	JSON   bool      `name:"json" help:"Print one JSON object."`
	Yes    bool      `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer decide replay --help`.
func (decideReplayCmd) Help() string {
	return `Answers the recorded states again, and shows which answers would be others: with --model by that model, else by the present teacher and students. Only decisions with a recorded text (record: text) can be answered again; the text is redacted and cut, so that some answers differ for that reason. Nothing is stored.

  consumer decide replay --model openai/gpt-5-mini --since 7d

Exit code 1: nothing was answered.`
}

// decideReplayed is what --json prints.
type decideReplayed struct {
	// Decisions were answered again, of them Changed differ; LeftOut have no text or no
	// stored question, Unanswered got no answer now.
	Decisions  int `json:"decisions"`
	Changed    int `json:"changed"`
	LeftOut    int `json:"leftOut"`
	Unanswered int `json:"unanswered"`
	// Better and Worse are changed answers by people's marks.
	Better  int             `json:"better"`
	Worse   int             `json:"worse"`
	Changes []decideChanged `json:"changes"`
}

// decideChanged is a decision that would be another one.
type decideChanged struct {
	ID     string        `json:"id"`
	Rubric string        `json:"rubric"`
	Text   string        `json:"text"`
	From   string        `json:"from"`
	To     string        `json:"to"`
	Source decide.Source `json:"source"`
	Marked string        `json:"marked,omitempty"`
}

func (c *decideReplayCmd) Run(inv *cli.Invocation) error {
	b, err := openDecide(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	entries, err := decide.Read(inv.Ctx, b.JS, app.Layout(inv.Config), "")
	if err != nil {
		return err
	}
	rehearsal, store, err := rehearse(inv, b, c.settings)
	if err != nil {
		return err
	}
	known, err := rubricsIn(inv.Ctx, store)
	if err != nil {
		return err
	}
	rubrics := map[string]*decide.Rubric{}
	for i := range known {
		if r := &known[i]; c.Rubric == "" || r.ID == c.Rubric || r.Name == c.Rubric {
			rubrics[r.ID] = r
		}
	}
	var out decideReplayed
	var again []decide.Entry
	for _, e := range entries {
		switch {
		case !e.Given() || e.At.Before(c.Since.Time) || c.Rubric != "" && rubrics[e.Rubric] == nil:
		case e.Record != decide.RecordText || rubrics[e.Rubric] == nil:
			out.LeftOut++
		default:
			again = append(again, e)
		}
	}
	if c.Model != "" && len(again) > 0 && cli.IsTerminal(inv.Stdin) {
		if err := inv.Confirm(fmt.Sprintf("Send %s to %s?", cli.Count(len(again), "recorded text"), c.Model), c.Yes); err != nil {
			return err
		}
	}
	if c.Model == "" {
		for _, r := range rubrics {
			if err := rehearsal.Learn(inv.Ctx, *r); err != nil {
				return err
			}
		}
	}
	for i := range again {
		if err := c.answer(inv, rehearsal, rubrics, &again[i], &out); err != nil {
			return err
		}
	}
	if err := out.print(inv, c.JSON); err != nil {
		return err
	}
	if out.Decisions == 0 {
		return errors.New("nothing was answered")
	}
	return nil
}

// settings makes --model the teacher of all rubrics.
func (c *decideReplayCmd) settings(s *decide.Settings) {
	if c.Model == "" {
		return
	}
	s.Model = c.Model
	rules := make(map[string]decide.Rule, len(s.Rubrics))
	for name, rule := range s.Rubrics {
		rule.Teacher, rule.Zero = "", ""
		rules[name] = rule
	}
	s.Rubrics = rules
}

func (c *decideReplayCmd) answer(inv *cli.Invocation, r *decide.Rehearsal, rubrics map[string]*decide.Rubric, e *decide.Entry, out *decideReplayed) error {
	state, err := json.Marshal(e.Text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(inv.Ctx, inv.Config.Classifier.Timeout)
	defer cancel()
	now, err := r.Ask(ctx, rubrics[e.Rubric], state)
	switch {
	case err != nil:
		return err
	case now.Skip != "":
		out.Unanswered++
		return nil
	}
	if out.Decisions++; now.Answer == e.Answer {
		return nil
	}
	out.Changed++
	change := decideChanged{ID: e.ID, Rubric: e.Rubric, Text: e.Text, From: e.Answer, To: now.Answer, Source: now.Source}
	if e.Mark != nil {
		switch change.Marked = e.Mark.Label; change.Marked {
		case now.Answer:
			out.Better++
		case e.Answer:
			out.Worse++
		}
	}
	out.Changes = append(out.Changes, change)
	return nil
}

func (d *decideReplayed) print(inv *cli.Invocation, asJSON bool) error {
	if asJSON {
		d.Changes = cli.OrEmpty(d.Changes)
		return cli.PrintJSON(inv, d)
	}
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	for _, c := range d.Changes {
		_, _ = fmt.Fprintf(w, "%s\t%s\t→ %s\t%s\t%s\n", c.ID, text.OneLine(c.From, 40), text.OneLine(c.To, 40), c.Marked, text.OneLine(c.Text, 80))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(inv.Stdout, "%s answered again, %d otherwise (by marks: %d better, %d worse); %d got no answer, %d have no recorded text or question\n",
		cli.Count(d.Decisions, "decision"), d.Changed, d.Better, d.Worse, d.Unanswered, d.LeftOut)
	return err
}
