package main

import (
	"errors"
	"fmt"
	"slices"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/decide"
)

type decideRmCmd struct {
	Rubric string `arg:"" optional:"" help:"The rubric, or its name."`
	All    bool   `help:"Remove all rubrics."`
	Yes    bool   `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer decide rm --help`.
func (decideRmCmd) Help() string {
	return `Forgets a rubric for good: its decisions and marks in the event stream, its question, and what a student learnt.

  consumer decide rm 3f9a0c11d2e4
  consumer decide rm --all --yes`
}

// Validate rejects a rubric beside --all, and neither.
func (c *decideRmCmd) Validate() error {
	if c.All == (c.Rubric != "") {
		return errors.New("name a rubric, or use --all")
	}
	return nil
}

func (c *decideRmCmd) Run(inv *cli.Invocation) error {
	b, err := openDecide(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := inv.Confirmable(c.Yes); err != nil {
		return err
	}
	layout := app.Layout(inv.Config)
	entries, err := decide.Read(inv.Ctx, b.JS, layout, "")
	if err != nil {
		return err
	}
	store := decide.StoreOf(layout, b.JS, inv.Quiet())
	chosen, err := c.chosen(inv, store, entries)
	if err != nil {
		return err
	}
	if err := inv.Confirm(fmt.Sprintf("Remove %s for good?", cli.Count(len(chosen), "rubric")), c.Yes); err != nil {
		return err
	}
	removed := 0
	for _, rubric := range chosen {
		n, err := decide.Forget(inv.Ctx, b.JS, layout, store, rubric)
		if err != nil {
			return fmt.Errorf("rubric %s: %w", rubric, err)
		}
		removed += n
	}
	_, err = fmt.Fprintf(inv.Stdout, "removed %s and %s\n", cli.Count(len(chosen), "rubric"), cli.Count(removed, "event"))
	return err
}

// chosen returns the rubrics to remove: those of the stream and of the store.
func (c *decideRmCmd) chosen(inv *cli.Invocation, store *decide.Store, entries []decide.Entry) ([]string, error) {
	if !c.All {
		known, err := rubricNamed(entries, c.Rubric)
		return []string{known}, err
	}
	known, err := rubricsIn(inv.Ctx, store)
	var out []string
	for _, t := range decide.Tallies(entries) {
		out = append(out, t.Rubric)
	}
	for _, r := range known {
		out = append(out, r.ID)
	}
	slices.Sort(out)
	return slices.Compact(out), err
}
