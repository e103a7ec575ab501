package workbench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/cmd/consumer/cli"
	"intenthint/improve/expand"
	"intenthint/improve/propose"
	"intenthint/intents"
	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/record"
	"intenthint/redact"
)

// Asked is what --propose adds to the JSON of improve.
type Asked struct {
	// Proposals are for the first findings, in their order.
	Proposals []ProposedEdit `json:"proposals"`
	// Before is the local classifier's accuracy with the current files; nil if no
	// proposal changes any.
	Before *leftOut `json:"before,omitempty"`
	// Calls is the number of model calls sent, and Tokens the tokens that the
	// models counted.
	Calls  int `json:"modelCalls"`
	Tokens struct {
		Input  int `json:"input"`
		Output int `json:"output"`
	} `json:"tokens"`
}

// ProposedEdit is a model's proposal for a finding, and its effect. It is
// measured on its own, without the other proposals.
type ProposedEdit struct {
	// Model answered, as provider/model; Why is its reason.
	Model string         `json:"model,omitempty"`
	Why   string         `json:"why,omitempty"`
	Edits []propose.Edit `json:"edits"`
	// Diff is the diff of all files that would get lines; "" for none.
	Diff string `json:"diff,omitempty"`
	// After is the local classifier's accuracy with the edits, Replay the effect
	// on the recorded turns, and Changed the turns that change, newest first; nil
	// if no file would change.
	After   *leftOut            `json:"after,omitempty"`
	Replay  *record.Summary     `json:"replay,omitempty"`
	Changed []record.Difference `json:"changed,omitempty"`
	// Error is why there is no proposal.
	Error string `json:"error,omitempty"`
}

// aboutFinding describes the kinds of findings to the model.
var aboutFinding = map[string]string{
	record.FoundCorrected:   "The chosen intent was wrong for these messages: somebody marked it, or the user's next message corrects the agent. \"right\" is what people said would have been right, where they did.",
	record.FoundUnsure:      "Nothing was said of these messages, because no intent fits or the classifier was not sure enough. They came more than once in like words.",
	record.FoundFailedTools: "In the turns of these messages several tool calls of the agent failed. That may come from a wrong intent, or have nothing to do with the catalogue.",
	record.FoundUnused:      "The chosen intent was never chosen in all of the record, although many messages came.",
}

// redactFinding removes personal data and secrets from the texts of a finding.
func redactFinding(f *record.Finding) {
	f.Turns = slices.Clone(f.Turns)
	for i := range f.Turns {
		t := &f.Turns[i]
		t.Text, t.Next = redact.Text(t.Text), redact.Text(t.Next)
	}
}

// proposer asks for edits and measures them.
type proposer struct {
	source *source
	models *expand.Models
	turns  []record.Turn
	report *Asked

	classifier *local.Model    // trained on the source's catalogue
	answers    []record.Answer // of classifier; nil until they are needed
}

// finding returns a finding in the form that the model gets.
func (p *proposer) finding(f *record.Finding) propose.Finding {
	out := propose.Finding{Kind: f.Kind, About: aboutFinding[f.Kind], Intent: f.Intent, Right: f.Right}
	for _, t := range f.Turns {
		out.Messages = append(out.Messages, propose.Message{Text: t.Text, Next: t.Next})
	}
	return out
}

// afford prints what will be sent to which model, and asks for confirmation.
func (p *proposer) afford(inv *cli.Invocation, findings []record.Finding, yes bool) error {
	if len(findings) == 0 {
		return nil
	}
	p.classifier = local.Trained(p.source.catalog)
	var bytes int64
	for i := range findings {
		request := propose.BuildRequest(p.finding(&findings[i]), p.source.catalog, p.classifier)
		bytes += int64(len(request.System) + len(request.User))
	}
	refs := p.models.Refs()
	calls := fmt.Sprintf("%s to %s, one per finding", cli.Count(len(findings), "call"), refs[0])
	if len(refs) > 1 {
		calls += fmt.Sprintf(", and one to %s for each that fails", strings.Join(refs[1:], ", "))
	}
	_, _ = fmt.Fprintf(inv.Stderr, "sent per finding: up to %d messages and their corrections, without personal data and secrets; triggers and examples of up to 6 intents; ids and names of all intents\n", propose.MaxMessages)
	return afford(inv, calls+", more only while a provider is busy", bytes, yes)
}

// run asks about findings in turn. A failure affects one proposal only. The
// error is errSaid after a failure, or that of an interrupted run.
func (p *proposer) run(inv *cli.Invocation, findings []record.Finding) error {
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = "findings"
	defer bar.Clear()
	failed := false
	for i := range findings {
		bar.Show(i, len(findings))
		p.models.Waiting = func(pause time.Duration, cause error) {
			bar.Clear()
			_, _ = fmt.Fprintf(inv.Stderr, "%v; asking again in %s\n", cause, pause.Round(100*time.Millisecond))
		}
		out := ProposedEdit{Edits: []propose.Edit{}}
		if err := p.one(inv, &findings[i], &out); err != nil {
			out.Error = text.Fold(err.Error())
			failed = true
		}
		p.report.Calls = p.models.Calls
		p.report.Tokens.Input, p.report.Tokens.Output = p.models.Usage.InputTokens, p.models.Usage.OutputTokens
		if inv.Ctx.Err() != nil {
			return errInterrupted
		}
		p.report.Proposals = append(p.report.Proposals, out)
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

// one fills in the proposal for a finding.
func (p *proposer) one(inv *cli.Invocation, f *record.Finding, out *ProposedEdit) error {
	about := p.finding(f)
	answer, err := expand.Ask(inv.Ctx, p.models, model.Question[propose.Answer]{
		Request: propose.BuildRequest(about, p.source.catalog, p.classifier), Parse: propose.Parse,
	})
	if err != nil {
		return err
	}
	out.Model, out.Why = answer.Ref, answer.Value.Why
	s := propose.Source{
		Files: p.source.files, Catalog: p.source.catalog, Classifier: p.classifier,
		Read: func(name string) ([]byte, error) { return intents.ReadExamples(p.source.fsys, name) },
	}
	edited := s.Apply(answer.Value.Edits, about.Messages, f.Kind == record.FoundCorrected)
	out.Edits = cli.OrEmpty(edited.Edits)
	for _, c := range edited.Changes {
		out.Diff += p.source.diff(c.File, p.source.dir, c.Before, c.After)
	}
	if edited.Catalog == nil {
		return nil
	}
	parts := evaluate.Sample(p.source.catalog)
	if p.report.Before == nil {
		before, err := measure(inv, p.source.catalog, parts, "before")
		if err != nil {
			return err
		}
		if p.answers, err = localAnswers(inv, p.turns, p.source.catalog, p.classifier); err != nil {
			return err
		}
		p.report.Before = &before
	}
	after, err := measure(inv, edited.Catalog, parts, "after")
	if err != nil {
		return err
	}
	answers, err := localAnswers(inv, p.turns, edited.Catalog, local.Train(edited.Catalog))
	if err != nil {
		return err
	}
	replayed := record.Between(p.turns, p.answers, answers)
	out.After, out.Replay, out.Changed = &after, &replayed.Summary, changesToShow(replayed.Differences)
	return nil
}

// editLine describes an edit in one line, with the place where it is to be made.
func editLine(e propose.Edit) string {
	line := text.OneLine(strings.ReplaceAll(e.Edit, "_", " ")+" "+e.Intent, 2*shownID)
	if e.Line > 0 {
		line += fmt.Sprintf(" (%s:%d)", e.File, e.Line)
	}
	switch {
	case e.Problem != "":
		return line + ": not made: " + text.Fold(e.Problem)
	case e.From != "":
		return fmt.Sprintf("%s: “%s” → “%s”", line, e.From, e.Text)
	case e.Text != "":
		return fmt.Sprintf("%s: “%s”", line, e.Text)
	}
	return line
}
