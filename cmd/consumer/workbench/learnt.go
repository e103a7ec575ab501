package workbench

import (
	"cmp"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/classify/local"
	"intenthint/cmd/consumer/cli"
	"intenthint/improve/expand"
	"intenthint/internal/bus"
	"intenthint/internal/text"
	"intenthint/learning"
	"intenthint/record"
)

// LearntLs is `consumer intents learnt ls`.
type LearntLs struct {
	JSON bool `name:"json" help:"Print a JSON array."`
}

// Help is the longer text of `consumer intents learnt ls --help`.
func (LearntLs) Help() string {
	return `Lists what HINT_LEARN=auto has learnt: the redacted text of each message, its intent, and whether a person marked it or a model was sure of it. USED shows whether the local classifier learns from it with the intents of these settings, or why not: the intent does not exist, or the text already is an example of this or another intent.

  consumer intents learnt ls
  consumer intents learnt ls --json

It also works with HINT_LEARN=off: learnt examples are kept until they are removed.`
}

// ListedExample is what --json prints of an example.
type ListedExample struct {
	record.Lesson
	Used bool `json:"used"`
	// Unused is why the example is not used: unknown, taken, repeated, similar,
	// elsewhere or surplus. Of is the other intent or example.
	Unused string `json:"unused,omitempty"`
	Of     string `json:"of,omitempty"`
}

// Run is called by kong.
func (c *LearntLs) Run(inv *cli.Invocation) error {
	b, examples, err := openLearnt(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	list, err := listExamples(inv, examples)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(inv, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(inv.Stderr, "no learnt examples in bucket %s\n", learning.Bucket(app.Layout(inv.Config)).Bucket)
		return err
	}
	w := tabwriter.NewWriter(inv.Stdout, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "LEARNT\tRUN\tINTENT\tFROM\tBY\tUSED\tTEXT")
	for _, e := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", time.UnixMilli(e.At).Local().Format(time.DateTime),
			text.OneLine(e.RunID, 44), text.OneLine(e.Intent, 60), e.Source, text.OneLine(cmp.Or(e.By, "-"), 44), e.usage(), text.OneLine(e.Text, 60))
	}
	return w.Flush()
}

// usage describes whether an example is used.
func (e *ListedExample) usage() string {
	if e.Used {
		return "yes"
	}
	return "no: " + text.OneLine(why(expand.Reason(e.Unused), e.Of), 80)
}

// openLearnt connects as [cli.OpenForReading] does, and opens the examples of all
// consumers. It creates nothing: the store is nil without a bucket.
func openLearnt(inv *cli.Invocation) (*bus.Bus, *learning.Store, error) {
	b, err := cli.OpenForReading(inv)
	if err != nil {
		return nil, nil, err
	}
	layout := app.Layout(inv.Config)
	_, err = b.JS.KeyValue(inv.Ctx, learning.Bucket(layout).Bucket)
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		return b, nil, nil
	case err != nil:
		b.Close()
		return nil, nil, fmt.Errorf("bucket %s: %w", learning.Bucket(layout).Bucket, err)
	}
	return b, learning.Of(layout, b.JS), nil
}

// listExamples returns all examples, and which of them are used.
func listExamples(inv *cli.Invocation, examples *learning.Store) ([]ListedExample, error) {
	list := []ListedExample{}
	if examples == nil {
		return list, nil
	}
	lessons, err := examples.All(inv.Ctx)
	if err != nil || len(lessons) == 0 {
		return list, err
	}
	catalog, _, err := app.LoadCatalog(inv.Config.IntentsDir, inv.Quiet())
	if err != nil {
		return list, err
	}
	unused := map[string]record.Unused{}
	for _, u := range record.Choose(catalog, local.Trained(catalog), lessons, app.LearntBounds()).Unused {
		unused[u.RunID] = u
	}
	for _, l := range lessons {
		u, is := unused[l.RunID]
		list = append(list, ListedExample{Lesson: l, Used: !is, Unused: string(u.Reason), Of: u.Of})
	}
	return list, nil
}

// LearntRm is `consumer intents learnt rm`.
type LearntRm struct {
	Runs []string `arg:"" optional:"" name:"run" help:"The run ids of the examples (RUN of ls)."`
	All  bool     `help:"All examples."`
	Yes  bool     `short:"y" help:"Do not ask."`
}

// Help is the longer text of `consumer intents learnt rm --help`.
func (LearntRm) Help() string {
	return `Removes learnt examples, with their text. All consumers train again without them within seconds. Only later feedback on the same turn brings one back. Asks before --all; without a terminal, --yes is needed.

  consumer intents learnt rm 7f3c1e 9a02bb
  consumer intents learnt rm --all --yes

Exit code 1: a run has no example, or it was not removed.`
}

// Validate rejects a command line that selects nothing, or has conflicting
// selections.
func (c *LearntRm) Validate() error {
	switch {
	case !c.All && len(c.Runs) == 0:
		return errors.New("missing selection: <run>, or --all")
	case c.All && len(c.Runs) > 0:
		return errors.New("--all and a run cannot be used together")
	}
	return nil
}

// Run is called by kong.
func (c *LearntRm) Run(inv *cli.Invocation) error {
	b, examples, err := openLearnt(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	runs := c.Runs
	if c.All {
		list, err := listed(inv, examples)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			_, err := fmt.Fprintln(inv.Stderr, "no learnt examples")
			return err
		}
		if err := inv.Confirm(fmt.Sprintf("Remove %s for good?", cli.Count(len(list), "learnt example")), c.Yes); err != nil {
			return err
		}
		runs = list
	}
	removed := 0
	var failed []error
	for _, run := range runs {
		found := false
		if examples != nil {
			if found, err = examples.Remove(inv.Ctx, run, time.Now()); err != nil {
				failed = append(failed, fmt.Errorf("run %q: %w", run, err))
				continue
			}
		}
		switch {
		case found:
			removed++
		case !c.All:
			failed = append(failed, fmt.Errorf("no example was learnt from run %q (consumer intents learnt ls)", run))
		}
		if inv.Ctx.Err() != nil {
			break
		}
	}
	_, _ = fmt.Fprintf(inv.Stdout, "removed %s\n", cli.Count(removed, "learnt example"))
	return errors.Join(failed...)
}

// listed returns the runs of all examples.
func listed(inv *cli.Invocation, examples *learning.Store) ([]string, error) {
	if examples == nil {
		return nil, nil
	}
	lessons, err := examples.All(inv.Ctx)
	runs := make([]string, len(lessons))
	for i, l := range lessons {
		runs[i] = l.RunID
	}
	return runs, err
}
