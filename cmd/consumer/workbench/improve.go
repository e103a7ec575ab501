package workbench

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/improve/expand"
	"intenthint/improve/propose"
	"intenthint/intents"
	"intenthint/record"
	"intenthint/store"
)

// Improve is `consumer improve`.
type Improve struct {
	Since   cli.Since     `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time. Default: all stored turns."`
	Limit   int           `default:"20" placeholder:"N" help:"Show the first N findings, and propose edits only for these. Default: 20."`
	Turns   int           `default:"3" placeholder:"N" help:"Show the newest N turns of each. Default: 3."`
	JSON    bool          `name:"json" help:"Print one JSON object, with all findings and all their turns."`
	Propose bool          `help:"Ask HINT_MODEL for an edit of the intent files for each finding, and show what it changes. Writes nothing."`
	Timeout time.Duration `default:"60s" help:"How long to wait for one model answer (--propose)."`
	Yes     bool          `short:"y" help:"Ask the model without confirmation (--propose)."`
}

// Validate is called by kong.
func (c *Improve) Validate() error {
	switch {
	case c.Yes && !c.Propose:
		return errors.New("--yes is for --propose: nothing else asks a model")
	case c.Timeout <= 0:
		return errors.New("--timeout must be positive")
	}
	return nil
}

// Help is the longer text of `consumer improve --help`.
func (Improve) Help() string {
	return `Shows where edits of the intents may improve hints, from the recorded turns alone; the finding with the most turns comes first. Without --propose it asks no model. It never changes anything.

corrected: somebody marked the hint wrong (consumer feedback), or the next message corrects the agent ("no, I meant …", in eleven languages). Shows the intent that would have been right, if somebody named it.
unsure: similar messages that came more than once and got no hint, because no intent fits or the confidence was below HINT_MIN_CONFIDENCE.
failed_tools: turns with ` + strconv.Itoa(record.SeveralFailures) + ` or more failed tool calls, by intent.
unused: intents that were never chosen, once there are ` + strconv.Itoa(record.TurnsAnIntent) + ` turns for each intent.

--propose asks HINT_MODEL, or HINT_MODEL_FALLBACK if that fails, one question for each finding shown. The question contains the kind of the finding, the texts of up to ` + strconv.Itoa(propose.MaxMessages) + ` of its messages and of those that corrected the agent, triggers and examples of up to 6 intents, and the ids and names of all. Personal data and secrets are removed from messages. The number of calls is printed before the first one, and must be confirmed. A proposal adds or removes an example, rewords a trigger, or is a new intent. Each is measured on its own: the diff of the files, how many left-out examples the local classifier recognises before and after, and which recorded turns it would answer differently, by pair of intents. Nothing is written: apply a diff with "patch -p0" or by hand, and check it with consumer replay --intents DIR.

Exit code 1: a model was not confirmed, or failed for one of the findings (the others are still shown).`
}

// findingAdvice is what to do about the findings of a kind.
type findingAdvice struct{ Kind, Text string }

var advice = []findingAdvice{
	{record.FoundCorrected, "say what would have been right (consumer feedback RUN wrong --intent ID), and take it as an example (consumer intents learn)"},
	{record.FoundUnsure, "write an intent for them, or add them to the examples of one"},
	{record.FoundFailedTools, "check whether the intent's prompt asks for a tool that is missing or needs other parameters"},
	{record.FoundUnused, "check whether its triggers and examples match what users write, or disable it"},
}

// Improvements is what --json prints.
type Improvements struct {
	// Since is the earliest beginning of the turns; nil without a limit.
	Since    *time.Time       `json:"since,omitempty"`
	Turns    int              `json:"turns"`
	Findings []record.Finding `json:"findings"`
	*Asked                    // nil without --propose
}

// Run is called by kong.
func (c *Improve) Run(inv *cli.Invocation) error {
	source, err := openSource(inv, inv.Config.IntentsDir)
	if err != nil {
		return err
	}
	var models *expand.Models
	if c.Propose {
		if models, err = newModels(inv, c.Timeout, "edits"); err != nil {
			return err
		}
	}
	out, turns, err := c.find(inv, source.catalog)
	if err != nil {
		return err
	}
	if len(out.Findings) == 0 && !c.JSON {
		_, err := fmt.Fprintf(inv.Stderr, "nothing found in %s of %s\n", cli.Count(out.Turns, "turn"), app.StoreName(inv.Config))
		return err
	}
	shown := out.Findings[:min(len(out.Findings), max(c.Limit, 0))]
	var undone error
	if c.Propose {
		p := proposer{source: source, models: models, turns: turns, report: &Asked{Proposals: []ProposedEdit{}}}
		if err := p.afford(inv, shown, c.Yes); err != nil {
			return err
		}
		for i := range out.Findings {
			redactFinding(&out.Findings[i])
		}
		out.Asked, undone = p.report, p.run(inv, shown)
	}
	if c.JSON {
		return errors.Join(cli.PrintJSON(inv, out), undone)
	}
	return errors.Join(c.print(inv.Stdout, &out, shown), undone)
}

// find reads the record. If edits are proposed it also returns the turns,
// oldest first.
func (c *Improve) find(inv *cli.Invocation, catalog *intents.Catalog) (out Improvements, turns []record.Turn, err error) {
	found := record.NewImprovements(inv.Config.Classifier.MinConfidence)
	add := func(s store.Summary, turn *store.Turn) {
		found.Add(s, turn)
		out.Turns++
	}
	if c.Propose {
		turns, err = turnsToClassify(inv, record.Filter{Since: c.Since.Time}, add)
	} else {
		err = eachTurn(inv, func(s store.Summary, turn *store.Turn) {
			if c.Since.IsZero() || turn.Begin.TS >= c.Since.UnixMilli() {
				add(s, turn)
			}
		})
	}
	if err != nil {
		return out, nil, err
	}
	if !c.Since.IsZero() {
		out.Since = &c.Since.Time
	}
	out.Findings = cli.OrEmpty(found.Findings(catalog.Enabled()))
	return out, turns, nil
}

// improveView is what the template shows.
type improveView struct {
	*Improvements
	Shown      []record.Finding
	TurnsShown int
}

// Proposal returns the proposal for the finding i with its effects, or nil.
func (v *improveView) Proposal(i int) *shownProposal {
	if v.Asked == nil || i >= len(v.Proposals) {
		return nil
	}
	return &shownProposal{&v.Proposals[i], v.Before, v.Turns}
}

// Advice returns what to do about the kinds of findings that are shown.
func (v *improveView) Advice() (out []findingAdvice) {
	for _, a := range advice {
		if slices.ContainsFunc(v.Shown, func(f record.Finding) bool { return f.Kind == a.Kind }) {
			out = append(out, a)
		}
	}
	return out
}

// shownProposal is a proposal, and what its effects are compared with.
type shownProposal struct {
	*ProposedEdit
	before *leftOut
	turns  int
}

// Effects returns the effect of the edit.
func (p *shownProposal) Effects() effects { return effects{*p.before, *p.After, p.Changed, p.turns} }

func (c *Improve) print(to io.Writer, out *Improvements, shown []record.Finding) error {
	return report(to, "improve.tmpl", &improveView{out, shown, c.Turns})
}
