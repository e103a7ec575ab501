package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/triage/state"
)

type triageExamplesLsCmd struct {
	Group string `placeholder:"G" help:"Only those of this group."`
	JSON  bool   `name:"json" help:"Print a JSON array."`
}

// Help is the longer text of `consumer triage examples ls --help`.
func (triageExamplesLsCmd) Help() string {
	return `Lists the messages that people marked, newest first. For each decision the model gets those of the same group, newest first, then those of other groups, at most "examples" of HINT_TRIAGE.

  consumer triage examples ls
  consumer triage examples ls --group agent:main:telegram:group:-1001234 --json`
}

func (c *triageExamplesLsCmd) Run(inv *cli.Invocation) error {
	b, shared, err := openTriage(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	marks, err := marksOf(inv, shared, c.Group)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(inv, cli.OrEmpty(marks))
	}
	if len(marks) == 0 {
		_, err := fmt.Fprintf(inv.Stderr, "no marked messages in bucket %s\n", state.BucketsOf(app.Layout(inv.Config)).Marks.Bucket)
		return err
	}
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MARKED\tGROUP\tMESSAGE\tVERDICT\tBY\tTEXT")
	for _, m := range marks {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", time.UnixMilli(m.At).Local().Format(time.DateTime),
			text.OneLine(m.Group, 100), text.OneLine(m.MessageID, 44), m.Verdict, text.OneLine(cmp.Or(m.By, "-"), 44), text.OneLine(cmp.Or(m.Text, "(unknown)"), 60))
	}
	return w.Flush()
}

// marksOf returns the marks of a group, "" for all, newest first.
func marksOf(inv *cli.Invocation, shared *state.Store, group string) ([]state.Mark, error) {
	marks, err := shared.Marks(inv.Ctx)
	if group != "" {
		marks = slices.DeleteFunc(marks, func(m state.Mark) bool { return m.Group != group })
	}
	return marks, err
}

type triageExamplesRmCmd struct {
	Group      *string  `arg:"" optional:"" help:"The group of the messages."`
	MessageIDs []string `arg:"" optional:"" name:"message-id" help:"The messages; none with --all, for all messages of the group."`
	All        bool     `help:"All of the group, or of all groups."`
	Yes        bool     `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer triage examples rm --help`.
func (triageExamplesRmCmd) Help() string {
	return `Removes marks, with their text. Only later feedback marks such a message again. Asks first; without a terminal, --yes is needed.

  consumer triage examples rm agent:main:telegram:group:-1001234 4711 4712 --yes
  consumer triage examples rm agent:main:telegram:group:-1001234 --all
  consumer triage examples rm --all --yes

Exit code 1: a message is not marked, or was not removed.`
}

// Validate rejects a command line that selects nothing, or has conflicting
// selections.
func (c *triageExamplesRmCmd) Validate() error {
	switch {
	case !c.All && len(c.MessageIDs) == 0:
		return errors.New("missing selection: <group> <message-id>, or --all")
	case c.All && len(c.MessageIDs) > 0:
		return errors.New("--all and a message id cannot be used together")
	case c.Group != nil && *c.Group == "":
		return errors.New("the group must not be blank; leave it out with --all to select all groups")
	}
	return nil
}

// group returns the group, "" for all.
func (c *triageExamplesRmCmd) group() string {
	if c.Group == nil {
		return ""
	}
	return *c.Group
}

func (c *triageExamplesRmCmd) Run(inv *cli.Invocation) error {
	b, shared, err := openTriage(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := inv.Confirmable(c.Yes); err != nil {
		return err
	}
	var chosen []state.Mark
	if c.All {
		if chosen, err = marksOf(inv, shared, c.group()); err != nil {
			return err
		}
		if len(chosen) == 0 {
			_, err := fmt.Fprintln(inv.Stderr, "no marked messages")
			return err
		}
	}
	for _, id := range c.MessageIDs {
		chosen = append(chosen, state.Mark{Group: c.group(), MessageID: id})
	}
	if err := inv.Confirm(fmt.Sprintf("Remove %s for good?", cli.Count(len(chosen), "mark")), c.Yes); err != nil {
		return err
	}
	removed := 0
	var failed []error
	for _, m := range chosen {
		found, err := shared.Unmark(inv.Ctx, m.Group, m.MessageID, time.Now())
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("message %q: %w", m.MessageID, err))
		case !found && !c.All:
			failed = append(failed, fmt.Errorf("message %q of group %q is not marked (consumer triage examples ls)", m.MessageID, m.Group))
		case found:
			removed++
		}
		if inv.Ctx.Err() != nil {
			break
		}
	}
	_, _ = fmt.Fprintf(inv.Stdout, "removed %s\n", cli.Count(removed, "mark"))
	return errors.Join(failed...)
}
