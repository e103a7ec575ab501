package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"intenthint/internal/app"
	"intenthint/internal/text"
	"intenthint/record"
	"intenthint/store"
)

type improveCmd struct {
	Since since `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time. Default: all that are kept."`
	Limit int   `default:"20" placeholder:"N" help:"Show the first N findings. Default: 20."`
	Turns int   `default:"3" placeholder:"N" help:"Show the newest N turns of each. Default: 3."`
	JSON  bool  `name:"json" help:"Print one JSON object, with all findings and all their turns."`
}

// Help is the longer text of `consumer improve --help`.
func (improveCmd) Help() string {
	return `Shows what an edit of the intents may improve, from the recorded turns alone; that of the most turns comes first. It asks no model and changes nothing.

corrected: somebody marked the hint wrong (consumer feedback), or the next message corrects the agent ("no, I meant …", in eleven languages). With the intent that would have been right, where somebody named it.
unsure: messages in like words of which nothing was said, because no intent fits or the confidence was below HINT_MIN_CONFIDENCE, and that came more than once.
failed_tools: turns with ` + strconv.Itoa(record.SeveralFailures) + ` or more failed tool calls, by intent.
unused: intents that were never chosen, once there are ` + strconv.Itoa(record.TurnsAnIntent) + ` turns for each intent.

After an edit, consumer replay --intents DIR shows which of the recorded turns change.`
}

// advice says what to do about the findings of a kind.
var advice = map[string]string{
	record.FoundCorrected:   "say what would have been right (consumer feedback RUN wrong --intent ID), and take it as an example (consumer intents learn)",
	record.FoundUnsure:      "write an intent for them, or add them to the examples of one",
	record.FoundFailedTools: "look whether the intent's prompt asks for a tool that is missing or that needs other parameters",
	record.FoundUnused:      "look whether its triggers and examples say what users write, or disable it",
}

// improvements is what --json prints.
type improvements struct {
	// Since is the earliest beginning of the turns; nil without a limit.
	Since    *time.Time       `json:"since,omitempty"`
	Turns    int              `json:"turns"`
	Findings []record.Finding `json:"findings"`
}

func (c *improveCmd) Run(inv *invocation) error {
	catalog, _, err := app.LoadCatalog(inv.cfg.IntentsDir, inv.quiet())
	if err != nil {
		return err
	}
	sessions, closeStore, err := sessionsOf(inv)
	if err != nil {
		return err
	}
	defer closeStore()
	var out improvements
	found := record.NewImprovements(inv.cfg.Classifier.MinConfidence)
	bar := newProgress(inv.stderr)
	bar.label = "sessions"
	err = record.All(inv.ctx, sessions, bar.show, func(s store.Summary, turn *store.Turn) {
		if c.Since.IsZero() || turn.Begin.TS >= c.Since.UnixMilli() {
			found.Add(s, turn)
			out.Turns++
		}
	})
	bar.clear()
	if err != nil {
		return err
	}
	if !c.Since.IsZero() {
		out.Since = &c.Since.Time
	}
	out.Findings = orEmpty(found.Findings(catalog.Enabled()))
	if c.JSON {
		return printJSON(inv, out)
	}
	if len(out.Findings) == 0 {
		_, err := fmt.Fprintf(inv.stderr, "nothing found in %s of %s\n", count(out.Turns, "turn"), app.StoreName(inv.cfg))
		return err
	}
	return c.print(inv.stdout, &out)
}

func (c *improveCmd) print(to io.Writer, out *improvements) error {
	shown := out.Findings[:min(len(out.Findings), max(c.Limit, 0))]
	said := map[string]bool{}
	for _, f := range shown {
		if err := c.printFinding(to, &f); err != nil {
			return err
		}
		said[f.Kind] = true
	}
	if more := len(out.Findings) - len(shown); more > 0 {
		_, _ = fmt.Fprintf(to, "… and %s more (--limit)\n\n", count(more, "finding"))
	}
	for _, kind := range []string{record.FoundCorrected, record.FoundUnsure, record.FoundFailedTools, record.FoundUnused} {
		if said[kind] {
			_, _ = fmt.Fprintf(to, "%s: %s\n", kind, advice[kind])
		}
	}
	_, err := fmt.Fprintf(to, "%s in %s\n", count(len(out.Findings), "finding"), count(out.Turns, "turn"))
	return err
}

func (c *improveCmd) printFinding(to io.Writer, f *record.Finding) error {
	what := text.OneLine(f.Intent, 60)
	if f.Right != "" {
		what += " → " + text.OneLine(f.Right, 60)
	}
	_, _ = fmt.Fprintf(to, "%s  %s  %s\n", f.Kind, count(len(f.Turns), "turn"), what)
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	for _, t := range f.Turns[:min(len(f.Turns), max(c.Turns, 0))] {
		_, _ = fmt.Fprintf(w, "    %s\t%s\t%s\t%s", time.UnixMilli(t.TS).Local().Format(time.DateTime), text.OneLine(t.Session, 44), text.OneLine(t.RunID, 44), text.OneLine(t.Text, 60))
		if t.Next != "" {
			_, _ = fmt.Fprintf(w, "; then: %s", text.OneLine(t.Next, 60))
		}
		_, _ = fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(to)
	return err
}
