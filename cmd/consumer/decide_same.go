package main

import (
	"errors"
	"fmt"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/decide"
)

type decideSameCmd struct {
	Rubric  string `arg:"" help:"The rubric, or its name."`
	Earlier string `arg:"" optional:"" help:"The rubric that it continues, or its name."`
	None    bool   `help:"It continues none."`
}

// Help is the longer text of `consumer decide same --help`.
func (decideSameCmd) Help() string {
	return `Says that a rubric is an earlier one whose words changed: its student also learns from the answers to that one and from the marks on them. It must prove anew what it may answer alone. Both need the same type and two labels in common.

  consumer decide same 3f9a0c11d2e4 57953dee67c5
  consumer decide same 3f9a0c11d2e4 --none`
}

// Validate rejects an earlier rubric beside --none, and neither.
func (c *decideSameCmd) Validate() error {
	if c.None == (c.Earlier != "") {
		return errors.New("name the earlier rubric, or use --none")
	}
	return nil
}

func (c *decideSameCmd) Run(inv *cli.Invocation) error {
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
	earlier := ""
	if !c.None {
		if earlier, err = rubricNamed(entries, c.Earlier); err != nil {
			return err
		}
	}
	if err := decide.StoreOf(layout, b.JS, inv.Quiet()).Continue(inv.Ctx, rubric, earlier); err != nil {
		return err
	}
	if c.None {
		_, err = fmt.Fprintf(inv.Stdout, "%s continues no rubric\n", rubric)
		return err
	}
	_, err = fmt.Fprintf(inv.Stdout, "%s continues %s\n", rubric, earlier)
	return err
}
