package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/bus"
)

type streamPlanCmd struct {
	JSON     bool `name:"json" help:"Print a JSON array."`
	ExitCode bool `name:"exit-code" help:"Exit with 3 if anything is missing or differs, otherwise with 0."`
}

// Help is the longer text of `consumer stream plan --help`.
func (streamPlanCmd) Help() string {
	return "A start creates what is missing and never changes what exists. This command shows how existing streams, durables and buckets differ from HINT_STREAM_MAX_AGE, HINT_STREAM_MAX_BYTES, HINT_STREAM_REPLICAS and the settings that a consumer relies on. Other settings made by an operator do not count as differences. Where no system is running, its server is started in HINT_DATA_DIR for as long as the command runs. With HINT_STORE=file and HINT_SESSIONS_DIR set to an absolute path, the stream also names the consumers' sessions directory."
}

// errDiffers ends a command with [exitDiffers].
var errDiffers = errors.New("differences found")

func (c *streamPlanCmd) Run(inv *cli.Invocation) error {
	b, err := cli.OpenOrStart(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	targets, err := planOf(inv, b)
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(inv, targets)
	} else {
		printPlan(inv.Stdout, targets)
	}
	if err == nil && c.ExitCode && !inOrder(targets) {
		return errDiffers
	}
	return err
}

type streamApplyCmd struct {
	Yes   bool `short:"y" help:"Do not ask."`
	Force bool `help:"Also make changes that lose data."`
}

// Help is the longer text of `consumer stream apply --help`.
func (streamApplyCmd) Help() string {
	return "Shows the plan and asks before it changes anything. Differences that NATS cannot change in place are only reported: no stream or durable is ever deleted. A change that would lose data, such as a limit below the current size or age, is refused without --force. Exit code 1: differences remain."
}

// errRunning reports a change of the store under running consumers, which would go on
// with the other one.
var errRunning = errors.New("consumers of this system are running with another HINT_STORE; stop them first")

func (c *streamApplyCmd) Run(inv *cli.Invocation) error {
	b, err := cli.OpenOrStart(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	targets, err := planOf(inv, b)
	if err != nil {
		return err
	}
	printPlan(inv.Stdout, targets)
	if inOrder(targets) {
		return nil
	}
	if err := inv.Confirm("Make these changes?", c.Yes); err != nil {
		return err
	}
	if slices.ContainsFunc(targets, bus.Target.ChangesStore) {
		if _, alive, err := bus.ReadSystem(inv.Ctx, b.JS, app.Layout(inv.Config)); err != nil || alive {
			return cmp.Or(err, errRunning)
		}
	}
	left := false
	for _, t := range targets {
		if t.InOrder() {
			continue
		}
		err := bus.Apply(inv.Ctx, b.JS, t, c.Force)
		switch {
		case err == nil && t.Missing:
			_, _ = fmt.Fprintf(inv.Stdout, "created %s %s\n", t.Kind, t.Name)
		case err == nil:
			_, _ = fmt.Fprintf(inv.Stdout, "changed %s %s\n", t.Kind, t.Name)
		default:
			left = true
			for line := range strings.Lines(err.Error()) {
				_, _ = fmt.Fprintln(inv.Stderr, "consumer:", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	if left {
		return cli.ErrReported
	}
	return nil
}

// planOf compares the server with the configuration.
func planOf(inv *cli.Invocation, b *bus.Bus) ([]bus.Target, error) {
	layout := app.Layout(inv.Config)
	// A consumer may lack the right to name the system itself.
	layout.System = app.NewSystem(inv.Config)
	return bus.Plan(inv.Ctx, b.JS, layout, app.Buckets(inv.Config)...)
}

func inOrder(targets []bus.Target) bool {
	return !slices.ContainsFunc(targets, func(t bus.Target) bool { return !t.InOrder() })
}

// withContent describes what is deleted with a resource.
var withContent = map[string]string{
	bus.KindStream: " with all its messages", bus.KindBucket: " with all its keys",
	bus.KindDurable: " (applied events are redelivered, and count once)",
}

// printPlan prints a plan: one line per target, followed by one line per
// difference.
func printPlan(out io.Writer, targets []bus.Target) {
	width := 0
	for _, t := range targets {
		width = max(width, len(t.Name))
	}
	for _, t := range targets {
		what := "in order"
		switch {
		case t.Missing:
			what = "create"
		case !t.InOrder():
			what = "change"
		}
		_, _ = fmt.Fprintf(out, "%-7s  %-*s  %s\n", t.Kind, width, t.Name, what)
		for _, d := range t.Differences {
			_, _ = fmt.Fprintf(out, "           %s: %s -> %s\n", d.Field, d.From, d.To)
			if d.Effect != "" {
				_, _ = fmt.Fprintf(out, "             as it is: %s\n", d.Effect)
			}
			if d.Loss != "" {
				_, _ = fmt.Fprintf(out, "             loses data: %s\n", d.Loss)
			}
			if d.Recreate {
				_, _ = fmt.Fprintf(out, "             cannot be changed in place: delete the %s%s and apply again\n", t.Kind, withContent[t.Kind])
			}
		}
	}
}
