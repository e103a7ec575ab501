package main

import (
	"errors"
	"fmt"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/knowhub"
)

type knowhubWithdrawCmd struct{ deciding }

// Help is the longer text of `consumer knowhub withdraw --help`.
func (knowhubWithdrawCmd) Help() string {
	return `Takes the approval of experiences back, however old it is: they are rejected, and no agent finds them any more. Their text stays; "consumer knowhub rm" deletes it.

  consumer knowhub withdraw 3b7740fb5e6c2ab949d40e04771184dc --by ada

Exit code 1: an id is unknown, or its experience is pending.`
}

func (c *knowhubWithdrawCmd) Run(inv *cli.Invocation) error {
	return c.run(inv, "withdrawn", (*knowhub.Service).Withdraw)
}

type knowhubRmCmd struct {
	IDs []string `arg:"" name:"id" help:"The ids of experiences, as ls prints them."`
	Yes bool     `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer knowhub rm --help`.
func (knowhubRmCmd) Help() string {
	return `Deletes experiences for good, with their text, whatever their status. The same text submitted again is a new experience; to keep it out, reject it instead. Asks first; without a terminal, --yes is needed.

  consumer knowhub rm 3b7740fb5e6c2ab949d40e04771184dc --yes

Exit code 1: an id is unknown, or the deletion was not confirmed.`
}

func (c *knowhubRmCmd) Run(inv *cli.Invocation) error {
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := inv.Confirm("Delete "+cli.Count(len(c.IDs), "experience")+" for good?", c.Yes); err != nil {
		return err
	}
	var failed []error
	for _, id := range c.IDs {
		e, err := x.service.Delete(inv.Ctx, id)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", text.OneLine(id, 44), err))
			continue
		}
		_, _ = fmt.Fprintf(inv.Stdout, "deleted %s: %s\n", e.ID, text.OneLine(e.Task, 80))
	}
	return errors.Join(failed...)
}
