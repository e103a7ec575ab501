package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/bus"
	"intenthint/internal/text"
	"intenthint/knowhub"
	"intenthint/knowhub/bucket"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/safety"
	"intenthint/model"
)

// errKnowHubOff reports that the settings do not enable KnowHub.
var errKnowHubOff = errors.New(`KnowHub is off; HINT_KNOWHUB='{"enabled": true}' turns it on`)

// experiences is the bucket of experiences, and the rules for changing it.
type experiences struct {
	*bus.Bus
	kept    *bucket.Experiences
	service *knowhub.Service
	set     *knowhub.Settings
}

// openKnowHub connects as [cli.OpenForReading] does. Only consumers have the index;
// a command reads the bucket.
func openKnowHub(inv *cli.Invocation) (*experiences, error) {
	if !knowhub.Declared.In(inv.Config.Parts).Enabled {
		return nil, errKnowHubOff
	}
	o := app.Observer{Metrics: app.NewMetrics(version, ""), Log: inv.Quiet()}
	set, err := knowhub.Make(app.ProgramOf(inv.Config, o, model.NewBreakers(o)))
	if err != nil {
		return nil, err
	}
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return nil, err
	}
	x := &experiences{Bus: b, kept: bucket.ExperiencesOf(app.Layout(inv.Config), b.JS), set: set}
	x.service = knowhub.New(knowhub.Options{Experiences: x.kept, Marks: safety.Marks, Log: inv.Quiet()})
	x.service.Use(set)
	return x, nil
}

// maxUnreadable bounds the keys of unreadable experiences that are named.
const maxUnreadable = 10

// all returns the experiences that a filter lets through, newest first. Unreadable
// ones are named on standard error, and whole is false.
func (x *experiences) all(inv *cli.Invocation, keep func(experience.Experience) bool) (out []experience.Experience, whole bool, err error) {
	unreadable, err := x.kept.All(inv.Ctx, func(e experience.Experience) error {
		if keep(e) {
			out = append(out, e)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b experience.Experience) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	if n := len(unreadable); n > 0 {
		keys := make([]string, min(n, maxUnreadable), maxUnreadable+1)
		for i := range keys {
			keys[i] = text.OneLine(unreadable[i], 44)
		}
		if n > maxUnreadable {
			keys = append(keys, "…")
		}
		_, _ = fmt.Fprintf(inv.Stderr, "left out: %s that cannot be read (%s)\n", cli.Count(n, "experience"), strings.Join(keys, ", "))
	}
	return out, len(unreadable) == 0, err
}

// chosen are the flags that choose experiences.
type chosen struct {
	Status string `placeholder:"S" help:"Only those that are pending, approved or rejected."`
	Agent  string `placeholder:"A" help:"Only those of this agent."`
}

// Validate rejects an unknown status.
func (c chosen) Validate() error {
	if c.Status != "" && !experience.Status(c.Status).Valid() {
		return fmt.Errorf("--status must be one of pending, approved and rejected, not %q", c.Status)
	}
	return nil
}

func (c chosen) holds(e experience.Experience) bool {
	return (c.Status == "" || string(e.Status) == c.Status) && (c.Agent == "" || e.AgentID == c.Agent)
}

type knowhubLsCmd struct {
	chosen
	JSON bool `name:"json" help:"Print a JSON array."`
}

// Help is the longer text of `consumer knowhub ls --help`.
func (knowhubLsCmd) Help() string {
	return `Lists experiences, newest first.

  consumer knowhub ls --status pending
  consumer knowhub ls --agent main --json`
}

func (c *knowhubLsCmd) Run(inv *cli.Invocation) error {
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	found, _, err := x.all(inv, c.holds)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(inv, cli.OrEmpty(found))
	}
	if len(found) == 0 {
		_, err := fmt.Fprintf(inv.Stderr, "no such experiences in bucket %s\n", bucket.ExperiencesIn(app.Layout(inv.Config)).Bucket)
		return err
	}
	return printExperiences(inv, found)
}

func printExperiences(inv *cli.Invocation, found []experience.Experience) error {
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tCREATED\tSTATUS\tAGENT\tTASK\tRESULT")
	for _, e := range found {
		status := string(e.Status)
		if len(e.Flags) > 0 {
			status += "!"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.CreatedAt.Local().Format(time.DateTime), status,
			text.OneLine(cmp.Or(e.AgentID, "-"), 30), text.OneLine(e.Task, 50), text.OneLine(e.Result, 60))
	}
	return w.Flush()
}

type knowhubShowCmd struct {
	ID string `arg:"" help:"The id of an experience, as ls prints it."`
}

func (c *knowhubShowCmd) Run(inv *cli.Invocation) error {
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	e, err := x.service.Content(inv.Ctx, c.ID)
	if err != nil {
		return err
	}
	return cli.PrintJSON(inv, e)
}

// deciding are the arguments of a decision.
type deciding struct {
	IDs []string `arg:"" name:"id" help:"The ids of experiences, as ls prints them."`
	By  string   `placeholder:"NAME" help:"Who decides."`
}

type knowhubApproveCmd struct{ deciding }

// Help is the longer text of `consumer knowhub approve --help`.
func (knowhubApproveCmd) Help() string {
	return `Approves experiences, so that agents find them.

  consumer knowhub approve 3b7740fb5e6c2ab949d40e04771184dc --by ada

Exit code 1: an id is unknown, or the opposite was decided before.`
}

func (c *knowhubApproveCmd) Run(inv *cli.Invocation) error {
	return c.run(inv, "approved", (*knowhub.Service).Approve)
}

type knowhubRejectCmd struct{ deciding }

// Help is the longer text of `consumer knowhub reject --help`.
func (knowhubRejectCmd) Help() string {
	return `Rejects experiences: no agent finds them, even if they are submitted again.

  consumer knowhub reject 3b7740fb5e6c2ab949d40e04771184dc --by ada

Exit code 1: an id is unknown, or the opposite was decided before.`
}

func (c *knowhubRejectCmd) Run(inv *cli.Invocation) error {
	return c.run(inv, "rejected", (*knowhub.Service).Reject)
}

func (d deciding) run(inv *cli.Invocation, word string, decide func(*knowhub.Service, context.Context, string, string) (experience.Experience, error)) error {
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	var failed []error
	for _, id := range d.IDs {
		e, err := decide(x.service, inv.Ctx, id, d.By)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", text.OneLine(id, 44), err))
			continue
		}
		_, _ = fmt.Fprintf(inv.Stdout, "%s %s: %s\n", word, e.ID, text.OneLine(e.Task, 80))
	}
	return errors.Join(failed...)
}
