package workbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"intenthint/classify/local"
	"intenthint/cmd/consumer/cli"
	"intenthint/config"
	"intenthint/improve/expand"
	"intenthint/intents"
	"intenthint/model/provider"
)

// Expand is `consumer intents expand`.
type Expand struct {
	IDs     []string      `arg:"" optional:"" name:"id" help:"The intents to find examples for (default: all enabled ones)."`
	Count   int           `default:"20" help:"How many examples to ask for, for each intent: 1 to 100."`
	Timeout time.Duration `default:"60s" help:"How long to wait for one model answer."`
	addExamples
}

// Help is the longer text of `consumer intents expand --help`.
func (Expand) Help() string {
	return `Asks HINT_MODEL, or HINT_MODEL_FALLBACK if that fails, for more examples of each intent, in the languages of its current examples. The local classifier then knows these wordings without a model. A suggestion is dropped if it repeats an example of any intent, if it is nearly the same as one of the same intent, or if the local classifier is sure that it belongs to another intent. Dropped suggestions are listed on standard error with the reason.

The diff goes to standard output (usable with "patch -p0" if the directory was given as a relative path). Nothing is written before you confirm. Examples are appended to the file beside each intent file, NAME.examples.txt, and a running consumer reloads it at once. The built-in definitions cannot be changed: write them to a directory with --out, and set HINT_INTENTS_DIR to it.

Exit code 1: a model failed for one of the intents (the others are still processed), or the changes were not confirmed.`
}

// Validate is called by kong.
func (c *Expand) Validate() error {
	const most = 100 // examples of one intent: a model repeats itself beyond
	switch {
	case c.Count < 1 || c.Count > most:
		return fmt.Errorf("--count must be 1 to %d", most)
	case c.Timeout <= 0:
		return errors.New("--timeout must be positive")
	}
	return c.addExamples.Validate()
}

// expansion is the result for one intent.
type expansion struct {
	addition
	Model   string           `json:"model,omitempty"`
	Dropped []expand.Dropped `json:"dropped"`
	// Error is the reason why there are no examples.
	Error string `json:"error,omitempty"`
}

// Expanded is what --json prints.
type Expanded struct {
	Intents []expansion `json:"intents"`
	// Written are the files that were written.
	Written []string `json:"written"`
	// Tokens are what the models counted.
	Tokens struct {
		Input  int `json:"input"`
		Output int `json:"output"`
	} `json:"tokens"`
}

// additions returns the results as changes of files.
func (out *Expanded) additions() []addition {
	all := make([]addition, len(out.Intents))
	for i, e := range out.Intents {
		all[i] = e.addition
	}
	return all
}

// Run is called by kong.
func (c *Expand) Run(inv *cli.Invocation) error {
	source, err := c.source(inv)
	if err != nil {
		return err
	}
	chosen, err := source.choose(c.IDs)
	if err != nil {
		return err
	}
	models, err := newModels(inv, c.Timeout, "examples")
	if err != nil {
		return err
	}
	if err := c.confirmable(inv); err != nil {
		return err
	}
	// Show the answers paid for, even if a signal ends the work early.
	out := c.expand(inv, source, chosen, models)
	out.Tokens.Input, out.Tokens.Output = models.Usage.InputTokens, models.Usage.OutputTokens
	if !c.JSON {
		if err := c.printDiff(inv, source, out.additions()); err != nil {
			return err
		}
	}
	out.printSummary(inv.Stderr)
	var undone error
	out.Written, undone = c.write(inv, source, out.additions())
	if c.JSON {
		if err := cli.PrintJSON(inv, out); err != nil {
			return err
		}
	}
	if undone != nil {
		return undone
	}
	if slices.ContainsFunc(out.Intents, func(e expansion) bool { return e.Error != "" }) {
		return cli.ErrReported
	}
	return nil
}

// choose returns the files of the given intents, or of all enabled ones but the
// fallback, in order of ids.
func (s *source) choose(ids []string) ([]intents.File, error) {
	var out []intents.File
	if len(ids) == 0 {
		for _, f := range s.files {
			if f.Enabled && !strings.EqualFold(f.Intent.ID, intents.FallbackID) {
				out = append(out, f)
			}
		}
	}
	for _, id := range ids {
		i := slices.IndexFunc(s.files, func(f intents.File) bool { return strings.EqualFold(f.Intent.ID, id) })
		switch {
		case i < 0 && strings.EqualFold(id, intents.FallbackID):
			return nil, fmt.Errorf("%s is the built-in fallback, which takes no examples unless a file with that id replaces it", intents.FallbackID)
		case i < 0:
			return nil, fmt.Errorf("unknown intent %s", id)
		case !s.files[i].Enabled:
			return nil, fmt.Errorf("intent %s is not enabled", id)
		}
		out = append(out, s.files[i])
	}
	slices.SortFunc(out, func(a, b intents.File) int { return cmp.Compare(a.Intent.ID, b.Intent.ID) })
	return slices.CompactFunc(out, func(a, b intents.File) bool { return a.Name == b.Name }), nil
}

// models returns the configured models that can be asked, with a timeout for
// each answer. what names the purpose in errors.
func newModels(inv *cli.Invocation, timeout time.Duration, what string) (*expand.Models, error) {
	settings := inv.Config.Classifier
	refs := slices.DeleteFunc([]string{settings.Model, settings.Fallback}, func(ref string) bool { return ref == "" })
	if len(refs) == 0 {
		return nil, config.Errors{{Variable: "HINT_MODEL", Allowed: "must be provider/model: no model is configured to ask for " + what}}
	}
	registry, err := provider.New(settings.Providers, provider.Options{})
	if err != nil {
		return nil, err
	}
	var known []string
	var errs []error
	for _, ref := range slices.Compact(refs) {
		if _, err := registry.Resolve(ref); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", ref, err))
			continue
		}
		known = append(known, ref)
	}
	if len(known) == 0 {
		return nil, errors.Join(errs...) // contract §10: no model can be asked
	}
	for _, err := range errs {
		_, _ = fmt.Fprintln(inv.Stderr, err)
	}
	return expand.NewModels(timeout, registry, known...), nil
}

// expand asks for examples of each intent in turn, and shows its progress.
func (c *Expand) expand(inv *cli.Invocation, s *source, chosen []intents.File, models *expand.Models) Expanded {
	classifier := local.Trained(s.catalog)
	x := expander{count: c.Count, source: s, classifier: classifier, filter: expand.NewFilter(s.catalog, classifier), models: models}
	out := Expanded{Intents: []expansion{}, Written: []string{}}
	bar := cli.NewProgress(inv.Stderr)
	say := func(format string, args ...any) {
		bar.Clear()
		_, _ = fmt.Fprintf(inv.Stderr, format+"\n", args...)
	}
	for i, file := range chosen {
		in := file.Intent
		bar.Label = in.ID
		bar.Show(i, len(chosen))
		models.Waiting = func(pause time.Duration, cause error) {
			say("%s: %v; asking again in %s", in.ID, cause, pause.Round(100*time.Millisecond))
			bar.Show(i, len(chosen))
		}
		began := time.Now()
		e := expansion{addition: addition{Intent: in.ID, File: intents.ExamplesName(file.Name), Added: []string{}}, Dropped: []expand.Dropped{}}
		if err := x.one(inv.Ctx, in, &e); err != nil {
			e.Error = err.Error()
		}
		if inv.Ctx.Err() != nil {
			bar.Clear()
			return out
		}
		say("[%d/%d] %s, %.1f s", i+1, len(chosen), e.line(), time.Since(began).Seconds())
		out.Intents = append(out.Intents, e)
	}
	return out
}

// expander finds examples for the intents of a source.
type expander struct {
	count      int // of examples to ask for, for each intent
	source     *source
	classifier *local.Model // trained on the source's catalogue
	filter     *expand.Filter
	models     *expand.Models
}

// one fills in the result for one intent.
func (x *expander) one(ctx context.Context, in intents.Intent, e *expansion) error {
	// The id and the name of the fallback are the catalogue's.
	if known, ok := x.source.catalog.Lookup(in.ID); ok {
		in = known
	}
	// Check that examples can be added before paying for the model.
	var err error
	if e.addition, err = x.source.open(in); err != nil {
		return err
	}
	answer, err := x.models.Suggest(ctx, expand.BuildRequest(in, expand.Neighbours(x.source.catalog, in, x.classifier), x.count))
	if err != nil {
		return err
	}
	e.Model = answer.Ref
	kept, dropped := x.filter.Judge(in.ID, answer.Value, x.count)
	e.Dropped = cli.OrEmpty(dropped)
	return e.add(kept)
}
