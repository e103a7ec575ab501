package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/model"
	"intenthint/triage"
	"intenthint/triage/state"
)

type triageTryCmd struct {
	Group   string   `arg:"" help:"The group: its session key, as triage stats prints it."`
	Text    []string `arg:"" help:"The message."`
	Sender  string   `default:"someone" help:"The id of its sender."`
	IsGroup bool     `help:"Treat it as a group even if its key has neither :group: nor :channel:."`
	JSON    bool     `name:"json" help:"Print one JSON object, with the prompt."`
}

// Help is the longer text of `consumer triage try --help`.
func (triageTryCmd) Help() string {
	return `Decides about a message as the gate would now, in this process, with the settings of this command: it applies the rules in order, with the recent messages of the group and the marked messages of the running system, and asks the model. Nothing is stored and no consumer is asked. Only the gateway knows the agent's own name; set botName to try that rule.

  consumer triage try agent:main:telegram:group:-1001234 "has anybody seen my keys?"
  consumer triage try agent:main:telegram:group:-1001234 --sender ada --json is the roof done

Exit code 1: the gate is off, or the model failed (the message would be answered).`
}

// tried is what --json prints.
type tried struct {
	// Decision is respond or skip, Reason the value of Triage-Reason.
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Score    int    `json:"score,omitempty"`
	// Recent and Marks are the numbers of known recent messages of the group and
	// of marked messages.
	Recent int `json:"recent"`
	Marks  int `json:"marks"`
	// Model, Answer and Tokens belong to the model that was asked, Prompt is what
	// it was given; absent if no model was asked.
	Model     string       `json:"model,omitempty"`
	Prompt    *triedPrompt `json:"prompt,omitempty"`
	Answer    string       `json:"answer,omitempty"`
	Tokens    state.Tokens `json:"tokens,omitzero"`
	Error     string       `json:"error,omitempty"`
	ElapsedMs float64      `json:"elapsedMs"`
}

type triedPrompt struct {
	System string `json:"system"`
	User   string `json:"user"`
}

func (c *triageTryCmd) Run(inv *cli.Invocation) error {
	b, shared, err := openTriage(inv)
	if err != nil {
		return err
	}
	defer b.Close()
	o := app.Observer{Metrics: app.NewMetrics(version, ""), Log: inv.Quiet()}
	settings, err := triage.Make(app.ProgramOf(inv.Config, o, model.NewBreakers(o)))
	if err != nil {
		return err
	}
	now := time.Now()
	m := triage.Message{Group: c.Group, Sender: c.Sender, Text: strings.Join(c.Text, " "), At: now}
	if c.IsGroup {
		m.IsGroup = &c.IsGroup
	}
	before, err := shared.Recent(inv.Ctx, c.Group, now)
	if err != nil {
		return err
	}
	marks, err := shared.Marks(inv.Ctx)
	if err != nil {
		return err
	}
	marks = marks[:min(len(marks), state.MaxMarks)]
	if settings.Trained {
		settings.Local = triage.TrainLocal(marks)
	}

	ctx, cancel := context.WithTimeout(inv.Ctx, settings.Timeout)
	defer cancel()
	began := time.Now()
	trial, failure := settings.Try(ctx, m, before, marks)
	out := tried{
		Decision: trial.Word(), Reason: string(trial.Reason), Score: trial.Score, Recent: len(before), Marks: len(marks),
		Model: trial.Model, Answer: trial.Answer, Tokens: trial.Tokens, ElapsedMs: float64(time.Since(began).Microseconds()) / 1000,
	}
	if q := trial.Question; q != nil {
		out.Prompt = &triedPrompt{q.System, q.User}
	}
	if failure != nil {
		out.Error = failure.Error()
	}
	if c.JSON {
		err = cli.PrintJSON(inv, out)
	} else {
		err = out.print(inv.Stdout, settings)
	}
	if failure != nil {
		return errors.Join(err, fmt.Errorf("the model did not decide: %w", failure))
	}
	return err
}

// print writes the decision and its basis as text.
func (out *tried) print(to io.Writer, s *triage.Settings) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "decision\t%s\n", out.Decision)
	_, _ = fmt.Fprintf(w, "reason\t%s: %s\n", out.Reason, out.because(s))
	if out.Score > 0 {
		_, _ = fmt.Fprintf(w, "score\t%d, answered from %d on\n", out.Score, s.Threshold)
	}
	if out.Answer != "" {
		_, _ = fmt.Fprintf(w, "answer\t%q\n", text.OneLine(out.Answer, 200))
		_, _ = fmt.Fprintf(w, "tokens\t%d in, %d out\n", out.Tokens.In, out.Tokens.Out)
	}
	_, _ = fmt.Fprintf(w, "known\t%s of the group, %s\n", cli.Count(out.Recent, "recent message"), cli.Count(out.Marks, "marked message"))
	_, _ = fmt.Fprintf(w, "took\t%.3f ms\n", out.ElapsedMs)
	if err := w.Flush(); err != nil || out.Prompt == nil {
		return err
	}
	_, err := fmt.Fprintf(to, "\nsystem prompt:\n%s\n\nmessage:\n%s\n", indented(out.Prompt.System), indented(out.Prompt.User))
	return err
}

// because explains a reason.
func (out *tried) because(s *triage.Settings) string {
	switch triage.Reason(out.Reason) {
	case triage.Direct:
		return "not a group"
	case triage.Excluded:
		return "the group is one of excludeGroups"
	case triage.NotListed:
		return "the group is not in groups"
	case triage.TooShort:
		return "fewer than two characters"
	case triage.BotName:
		return "it contains the agent's name"
	case triage.Keyword:
		return "it contains one of bypassKeywords"
	case triage.Quiet:
		return fmt.Sprintf("fewer than %s of people in %s before it", cli.Count(s.Quiet.Messages, "message"), s.Quiet.Per)
	case triage.ByLocal:
		return "the trained gate is sure"
	case triage.ByModel:
		if out.Model == "" {
			return "no rule applies, and there is no model to ask"
		}
		return "the answer of " + out.Model
	default:
		return out.Error
	}
}

// indented formats a text of several lines without control characters.
func indented(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  " + text.OneLine(line, len(line)) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
